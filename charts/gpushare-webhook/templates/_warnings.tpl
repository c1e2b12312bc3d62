{{/* Warnings about the chosen values, each after an empty line. */}}
{{- define "gpushare-webhook.warnings" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- include (include "gpushare-webhook.hasWebhook" . | empty | ternary "gpushare-webhook.policiesOnlyWarnings" "gpushare-webhook.webhookWarnings") . }}
{{- if and (eq $settings.profile "host-daemon") (not (hasKey ((.Values.config).placement | default dict) "mpsLabels")) (include "gpushare-webhook.firstShared" .) }}

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

{{/* Warnings about the webhook's own process, hooks and facts. */}}
{{- define "gpushare-webhook.webhookWarnings" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- if lt (include "gpushare-webhook.leastReplicas" . | int) 2 }}

WARNING: a single replica cannot answer while it moves to another node. Set {{ .Values.autoscaling.enabled | default false | ternary "autoscaling.minReplicas" "replicas" }} to 2 or more.
{{- end }}
{{- if and (eq "Ignore" (include "gpushare-webhook.validatingFailurePolicy" .)) (eq $settings.mode "enforce") }}
{{- if not (include "gpushare-webhook.checksByPolicy" .) }}

WARNING: webhooks.validating.failurePolicy is Ignore: while no replica answers, GPU pods are admitted unchecked.
{{- else }}
{{- with include "gpushare-webhook.uncovered" . | fromJsonArray }}

WARNING: policies cannot express these checks, so that nothing makes them while no replica answers: {{ join ", " . }}. Change the settings, or set webhooks.validating.failurePolicy to Fail.
{{- end }}
{{- with include "gpushare-webhook.guarded" . | fromJsonArray }}

WARNING: while no replica answers, policies make these checks only if every GPU node shares through MPS, by the last facts: {{ join ", " . }}.
{{- end }}
{{- end }}
{{- end }}
{{- if eq .Values.webhooks.mutating.failurePolicy "Fail" }}

WARNING: webhooks.mutating.failurePolicy is Fail: while no replica answers, GPU pods are rejected.
{{- end }}
{{- $class := $settings.injections.runtimeClass }}
{{- if and $class.enabled (eq $class.whenUnknown "inject") (ne $class.whenCdi "inject") (not $settings.facts.runtimeClasses) }}

WARNING: config.facts.runtimeClasses is false, so the webhook cannot detect CDI, and injects runtimeClassName {{ $class.name }} in any case. Where the cluster uses CDI, such pods do not start: set it to true, or config.injections.runtimeClass.enabled to false. Without CDI, set config.injections.runtimeClass.whenCdi to inject.
{{- end }}
{{- include "gpushare-webhook.factWarnings" . }}
{{- include "gpushare-webhook.customKindWarnings" . }}
{{- if and (include "gpushare-webhook.callsApiServer" .) (not .Values.rbac.create) }}

WARNING: rbac.create is false: grant the service account {{ include "gpushare-webhook.serviceAccountName" . }} its permissions.
{{- end }}
{{- if .Values.hostNetwork }}

WARNING: hostNetwork needs one node per replica on which the port is free, and one more for updates.
{{- end }}
{{- if eq .Values.tls.mode "existing-secret" }}

WARNING: you must renew the Secret {{ .Values.tls.existingSecret.name }} yourself. Put a new authority into the bundle first, then into the Secret.
{{- end }}
{{- end -}}

{{/* Warnings about policies that work alone. */}}
{{- define "gpushare-webhook.policiesOnlyWarnings" -}}
{{- $class := (include "gpushare-webhook.settings" . | fromJson).injections.runtimeClass -}}
{{- if not (include "gpushare-webhook.injectsByPolicy" .) }}

WARNING: nothing is injected, because the API server serves no MutatingAdmissionPolicy v1, which needs Kubernetes 1.36.
{{- else if and $class.enabled (eq $class.whenUnknown "inject") (ne $class.whenCdi "inject") }}

WARNING: policies.only: nothing detects CDI or a missing RuntimeClass, and the policies inject runtimeClassName {{ $class.name }} in any case. Where the cluster uses CDI or has no such class, such pods do not start: set config.injections.runtimeClass.enabled to false. Otherwise, set config.injections.runtimeClass.whenCdi to inject.
{{- end }}
{{- end -}}

{{/* What to write instead of `webhooks.customKinds`: presets need nothing, other kinds name their resource and versions. */}}
{{- define "gpushare-webhook.customKindWarnings" -}}
{{- if .Values.webhooks.customKinds }}
{{- $known := include "gpushare-webhook.presetKinds" . | fromJson }}
{{- $workloads := (include "gpushare-webhook.settings" . | fromJson).workloads }}

WARNING: webhooks.customKinds is deprecated, because config.workloads alone produces the entries of custom kinds. While no
replica answers, webhooks.validating.customKindsFailurePolicy decides about them: it is {{ .Values.webhooks.validating.customKindsFailurePolicy | default "Ignore" }}. Remove the value; with
cert-manager, run that upgrade with --server-side=false.
{{- $paths := list }}
{{- range $kind := .Values.webhooks.customKinds }}
{{- with get $known (printf "%s/%s" .group .kind) }}
The preset {{ .entry }} contains {{ .kind }}, which needs no value.
{{- else }}
{{- range $workloads.paths }}
{{- if and (eq .kind $kind.kind) (eq .group $kind.group) }}{{ $paths = append $paths (merge (pick $kind "resource" "versions") .) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- with $paths }}
Replace these paths, which then name what the rules need:

  config:
    workloads:
      paths:
{{- range . }}
        - {group: {{ .group }}, kind: {{ .kind }}, path: {{ quote .path }}, holds: {{ .holds }}, resource: {{ .resource }}, versions: {{ toJson .versions }}, scope: {{ .scope }}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Warnings about settings that do nothing without facts which are off. */}}
{{- define "gpushare-webhook.factWarnings" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $plugin := $settings.facts.devicePlugin | default dict }}
{{- if and $settings.limits.fromDevicePlugin (not $plugin.configMaps) }}

WARNING: {{ .Values.mixedCluster | default false | ternary "mixedCluster" "config.limits.fromDevicePlugin" }} is true, but config.facts.devicePlugin names no ConfigMap, and the chart cannot guess its name: config.limits applies to every node. Set the names that your device plugin uses. Its own chart, as the release nvdp:

  config:
    facts:
      devicePlugin:
        configMaps: [nvidia-device-plugin/nvdp-nvidia-device-plugin-configs]
        daemonSet: nvidia-device-plugin/nvdp-nvidia-device-plugin

The GPU operator, where NAME is its value devicePlugin.config.name:

  config:
    facts:
      devicePlugin:
        configMaps: [gpu-operator/NAME]
        daemonSet: gpu-operator/nvidia-device-plugin-daemonset
{{- end }}
{{- if and $settings.facts.deviceClasses (not $settings.facts.nodes) }}

WARNING: config.facts.deviceClasses is true, but the webhook does not read nodes: while a DeviceClass serves a shared resource, its limits only warn. Set config.facts.nodes to true.
{{- end }}
{{- $selected := false }}
{{- range $settings.namespaces }}{{ if .selector }}{{ $selected = true }}{{ end }}{{ end }}
{{- if and $selected (not $settings.facts.namespaces) }}

WARNING: an entry of config.namespaces has a selector, but the webhook does not read the labels of namespaces, so that it matches none. Set config.facts.namespaces to true, or name the namespaces.
{{- end }}
{{- $unknown := not (or $settings.facts.nodes $settings.placement.nodeGroups) }}
{{- if and $unknown $settings.injections.memory.enabled }}

WARNING: config.injections.memory.enabled is true, but the webhook knows no nodes, so that it cannot size requests by memory. Set config.facts.nodes to true, or config.placement.nodeGroups.
{{- end }}
{{- if and $unknown $settings.injections.tolerations.enabled $settings.injections.tolerations.fromNodes }}

WARNING: config.injections.tolerations.fromNodes is set, but the webhook knows no nodes, so that it tolerates none of their taints. Set config.facts.nodes to true, or config.placement.nodeGroups.
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
