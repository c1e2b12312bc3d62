{{/* Rejects values that policies in the API server cannot fulfil, each with what is wrong, where, and what to do. */}}
{{- define "gpushare-webhook.validatePolicies" -}}
{{- $version := .Capabilities.KubeVersion.Version | trimPrefix "v" -}}
{{- if and (kindIs "bool" .Values.policies.enabled) .Values.policies.enabled (semverCompare "<1.36-0" $version) -}}
{{- fail (printf "policies.enabled is true, but Kubernetes %s serves no MutatingAdmissionPolicy v1, which needs 1.36: set policies.enabled to auto or false" $version) -}}
{{- end -}}
{{- if include "gpushare-webhook.isSet" (dict "in" .Values.config "path" "policies.enabled") -}}
{{- fail "config.policies.enabled is written by the chart: remove it, and set policies.enabled" -}}
{{- end -}}
{{- $common := .Values.webhooks.namespaceSelector | default dict -}}
{{- $changed := .Values.webhooks.mutating.namespaceSelector | default $common | toJson -}}
{{- $checked := .Values.webhooks.validating.namespaceSelector | default $common | toJson -}}
{{- if and (include "gpushare-webhook.checksByPolicy" .) (not .Values.policies.only) (ne $changed $checked) -}}
{{- fail "webhooks.mutating.namespaceSelector differs from webhooks.validating.namespaceSelector, but /mutate leaves codes to policies, which apply only where the latter selects: make both equal, or set policies.enabled to false" -}}
{{- end -}}
{{- if .Values.policies.only -}}
{{- if not .Values.policies.enabled -}}
{{- fail "policies.only is true, but policies.enabled is false, so that nothing would be installed: set policies.enabled to true or auto" -}}
{{- else if not (include "gpushare-webhook.checksByPolicy" .) -}}
{{- fail (printf "policies.only is true, but the API server of Kubernetes %s serves no policies that policies.enabled: auto uses, so that nothing would be installed: set policies.only to false, or pass --api-versions to helm template" $version) -}}
{{- end -}}
{{- with include "gpushare-webhook.needsWebhook" . | fromJsonArray -}}
{{- fail (printf "policies.only installs no webhook, but these values need it: %s. Remove them (config.facts.runtimeClasses: set it to false), or set policies.only to false" (join ", " .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The values that are set and have no effect without the webhook, as a list in JSON. */}}
{{- define "gpushare-webhook.needsWebhook" -}}
{{- $found := list -}}
{{- range list "mixedCluster" "webhooks.url" "webhooks.customKinds" "webhooks.devicePluginConfigMaps" "tls.clientCA.secretName" "autoscaling.enabled" "rbac.limitPatches" "networkPolicy.enabled" "metrics.serviceMonitor.enabled" "metrics.podMonitor.enabled" "metrics.prometheusRule.enabled" "metrics.dashboard.enabled" -}}
{{- if include "gpushare-webhook.isSet" (dict "in" $.Values "path" .) }}{{ $found = append $found . }}{{ end -}}
{{- end -}}
{{- if ne "self-managed" .Values.tls.mode }}{{ $found = append $found "tls.mode" }}{{ end -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- range list "facts.nodes" "facts.namespaces" "facts.runtimeClasses" "facts.deviceClasses" "facts.devicePlugin" "limits.fromDevicePlugin" "injections.memory.enabled" "injections.voidDevices.enabled" "injections.steering.enabled" "events.enabled" "workloads.paths" -}}
{{- if include "gpushare-webhook.isSet" (dict "in" $settings "path" .) }}{{ $found = append $found (printf "config.%s" .) }}{{ end -}}
{{- end -}}
{{- range (.Files.Get "files/policies.json" | fromJson).validating.rules -}}
{{- with include "gpushare-webhook.leftToWebhook" (dict "settings" $settings "rule" .) }}{{ $found = append $found . }}{{ end -}}
{{- end -}}
{{- with include "gpushare-webhook.injectionsLeft" . }}{{ $found = append $found . }}{{ end -}}
{{- toJson (uniq $found) -}}
{{- end -}}
