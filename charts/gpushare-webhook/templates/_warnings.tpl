{{/* Warnings about the chosen values, each after an empty line. */}}
{{- define "gpushare-webhook.warnings" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $facts := $settings.facts -}}
{{- if not .Values.guard.only }}
{{- if lt (include "gpushare-webhook.leastReplicas" . | int) 2 }}

WARNING: a single replica cannot answer while it moves to another node. Set {{ .Values.autoscaling.enabled | default false | ternary "autoscaling.minReplicas" "replicas" }} to 2 or more.
{{- end }}
{{- if and (eq "Ignore" (include "gpushare-webhook.validatingFailurePolicy" .)) (include "gpushare-webhook.guardAbsence" .) (eq $settings.mode "enforce") }}

WARNING: webhooks.validating.failurePolicy is Ignore: while no replica answers, GPU pods are admitted unchecked.
{{- end }}
{{- if eq .Values.webhooks.mutating.failurePolicy "Fail" }}

WARNING: webhooks.mutating.failurePolicy is Fail: while no replica answers, GPU pods are rejected.
{{- end }}
{{- $class := $settings.injections.runtimeClass }}
{{- if and $class.enabled (eq $class.whenUnknown "inject") (ne $class.whenCdi "inject") (not $facts.runtimeClasses) }}

WARNING: config.facts.runtimeClasses is false, so the webhook cannot detect CDI, and injects runtimeClassName {{ $class.name }} in any case. Where the cluster uses CDI, such pods do not start: set it to true, or config.injections.runtimeClass.enabled to false. Without CDI, set config.injections.runtimeClass.whenCdi to inject.
{{- end }}
{{- if and $settings.limits.fromDevicePlugin (not ($facts.devicePlugin | default dict).configMaps) }}

WARNING: {{ .Values.mixedCluster | default false | ternary "mixedCluster" "config.limits.fromDevicePlugin" }} is true, but config.facts.devicePlugin names no ConfigMap, and the chart cannot guess its name: config.limits applies to every node. Set the names that docs/how-to/mixed-clusters.md lists for your device plugin.
{{- end }}
{{- $selected := false }}
{{- range $settings.namespaces }}{{ if .selector }}{{ $selected = true }}{{ end }}{{ end }}
{{- if and $selected (not $facts.namespaces) }}

WARNING: an entry of config.namespaces has a selector, but the webhook does not read the labels of namespaces, so that it matches none. Set config.facts.namespaces to true, or name the namespaces.
{{- end }}
{{- if and (not (or $facts.nodes $settings.placement.nodeGroups)) $settings.injections.tolerations.enabled $settings.injections.tolerations.fromNodes }}

WARNING: config.injections.tolerations.fromNodes is set, but the webhook knows no nodes, so that it tolerates none of their taints. Set config.facts.nodes to true, or config.placement.nodeGroups.
{{- end }}
{{- if and (include "gpushare-webhook.callsApiServer" .) (not .Values.rbac.create) }}

WARNING: rbac.create is false: grant the service account {{ include "gpushare-webhook.serviceAccountName" . }} its permissions.
{{- end }}
{{- if eq .Values.tls.mode "existing-secret" }}

WARNING: you must renew the Secret {{ .Values.tls.existingSecret.name }} yourself. Put a new authority into the bundle first, then into the Secret.
{{- end }}
{{- end }}
{{- if and (eq $settings.profile "host-daemon") (not (hasKey ((.Values.config).placement | default dict) "mpsLabels")) (include "gpushare-webhook.sharedNames" . | fromJsonArray) }}

WARNING: config.placement.mpsLabels is not set: every node with GPUs counts as an MPS node, so the limits of MPS apply to all GPU pods. Set the labels of the nodes with the MPS daemon.
{{- end }}
{{- if eq (include "gpushare-webhook.namespace" .) "default" }}

WARNING: the webhook runs in the namespace "default" and ignores it. Install it into a namespace of its own.
{{- end }}
{{- with include "gpushare-webhook.missingNamespaces (needs the right to get namespaces, or checkNamespaces=false)" . }}

WARNING: these exempt namespaces do not exist, so users who may create namespaces can create them and bypass the webhook: {{ . }}. Create them, or remove them from config.exempt.namespaces and webhooks.excludedNamespaces.
{{- end }}
{{- if and .Values.test.enabled (has .Values.test.namespace (include "gpushare-webhook.excluded" . | fromJsonArray)) (ne .Values.test.namespace (include "gpushare-webhook.namespace" .)) }}

WARNING: the webhook ignores test.namespace {{ .Values.test.namespace }}, so there is no `helm test`. Choose another.
{{- end }}
{{- end -}}

{{/*
The exempt namespaces that do not exist, as text. Without a cluster every lookup is empty, so kube-system, which always
exists, shows whether there is one. A template cannot catch a lookup that is forbidden (helm/helm, lookup_func.go): Helm
stops and names this template, so the name says what to do.
*/}}
{{- define "gpushare-webhook.missingNamespaces (needs the right to get namespaces, or checkNamespaces=false)" -}}
{{- $missing := list -}}
{{- if and .Values.checkNamespaces (lookup "v1" "Namespace" "" "kube-system") -}}
{{- $own := include "gpushare-webhook.namespace" . -}}
{{- range without (include "gpushare-webhook.excluded" . | fromJsonArray) $own "kube-system" "kube-node-lease" -}}
{{- if not (lookup "v1" "Namespace" "" .) }}{{ $missing = append $missing . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $missing | join ", " -}}
{{- end -}}
