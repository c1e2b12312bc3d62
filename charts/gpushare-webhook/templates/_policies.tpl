{{/* Which admission policies the API server gets, and whether a webhook runs beside them. */}}

{{/*
Whether ValidatingAdmissionPolicies check objects. Their expressions need the CEL libraries of Kubernetes 1.35
(apiserver, pkg/cel/environment/base.go).
*/}}
{{- define "gpushare-webhook.checksByPolicy" -}}
{{- include "gpushare-webhook.usesPolicies" (dict "root" . "kind" "ValidatingAdmissionPolicy" "from" "1.35") -}}
{{- end -}}

{{/* Whether MutatingAdmissionPolicies inject. */}}
{{- define "gpushare-webhook.injectsByPolicy" -}}
{{- include "gpushare-webhook.usesPolicies" (dict "root" . "kind" "MutatingAdmissionPolicy" "from" "1.36") -}}
{{- end -}}

{{/* Whether the values want policies of a kind. Takes the root, the `kind`, and the Kubernetes version that `auto` needs. */}}
{{- define "gpushare-webhook.usesPolicies" -}}
{{- if kindIs "bool" .root.Values.policies.enabled -}}
{{- if .root.Values.policies.enabled }}true{{ end -}}
{{- else if eq "auto" (.root.Values.policies.enabled | default "") -}}
{{- $served := .root.Capabilities.APIVersions.Has (printf "admissionregistration.k8s.io/v1/%s" .kind) -}}
{{- if and $served (semverCompare (printf ">=%s-0" .from) .root.Capabilities.KubeVersion.Version) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* Whether the chart installs the webhook. */}}
{{- define "gpushare-webhook.hasWebhook" -}}
{{- if not .Values.policies.only }}true{{ end -}}
{{- end -}}

{{/* The ConfigMap of parameters, which the webhook writes and policies read; empty when there is none. */}}
{{- define "gpushare-webhook.parameters" -}}
{{- if and (include "gpushare-webhook.hasWebhook" .) (include "gpushare-webhook.checksByPolicy" .) -}}
{{- include "gpushare-webhook.fullname" . }}-parameters
{{- end -}}
{{- end -}}

{{/* What happens to GPU pods and built-in workloads while no replica answers. */}}
{{- define "gpushare-webhook.validatingFailurePolicy" -}}
{{- .Values.webhooks.validating.failurePolicy | default (include "gpushare-webhook.checksByPolicy" . | empty | ternary "Fail" "Ignore") -}}
{{- end -}}

{{/* Whether a mapping holds something at a path such as `limits.perPod`. Takes `in` and `path`. */}}
{{- define "gpushare-webhook.isSet" -}}
{{- $value := .in -}}
{{- range splitList "." .path -}}
{{- $value = kindIs "map" $value | ternary (get (kindIs "map" $value | ternary $value dict) .) "" -}}
{{- end -}}
{{- if $value }}true{{ end -}}
{{- end -}}

{{/* The label that distinguishes the policies for pods and workloads, and their bindings, from other objects. */}}
{{- define "gpushare-webhook.policyLabel" -}}
app.kubernetes.io/component: policies
{{- end -}}

{{/* Selects them in `kubectl`. */}}
{{- define "gpushare-webhook.policySelector" -}}
app.kubernetes.io/instance={{ .Release.Name }},app.kubernetes.io/component=policies
{{- end -}}
