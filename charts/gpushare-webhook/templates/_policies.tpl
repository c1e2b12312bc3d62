{{/* Which admission policies the API server gets, and whether a webhook runs beside them. */}}

{{/*
Whether ValidatingAdmissionPolicies check objects. They call the list functions that Kubernetes 1.34 introduced, which new
expressions may use one version later (k8s.io/apiserver, pkg/cel/environment/base.go).
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

{{/* The ServiceAccount with the parameters of policies; empty without policies that check. */}}
{{- define "gpushare-webhook.parameters" -}}
{{- if include "gpushare-webhook.checksByPolicy" . -}}
{{- include "gpushare-webhook.fullname" . }}{{ (.Files.Get "files/policies.json" | fromJson).paramSuffix }}
{{- end -}}
{{- end -}}

{{/* Whether the webhook writes these parameters. */}}
{{- define "gpushare-webhook.writesParameters" -}}
{{- if and (include "gpushare-webhook.hasWebhook" .) (include "gpushare-webhook.parameters" .) }}true{{ end -}}
{{- end -}}

{{/* What happens to GPU pods and built-in workloads while no replica answers. */}}
{{- define "gpushare-webhook.validatingFailurePolicy" -}}
{{- .Values.webhooks.validating.failurePolicy | default (include "gpushare-webhook.checksByPolicy" . | empty | ternary "Fail" "Ignore") -}}
{{- end -}}

{{/* The first of several paths at which a mapping holds something; empty if there is none. Takes `in` and `paths`. */}}
{{- define "gpushare-webhook.firstSet" -}}
{{- $found := list -}}
{{- range .paths }}{{ if include "gpushare-webhook.isSet" (dict "in" $.in "path" .) }}{{ $found = append $found . }}{{ end }}{{ end -}}
{{- with $found }}{{ first . }}{{ end -}}
{{- end -}}

{{/* Whether a rule of `namespaces` selects by labels, which no expression sees. Takes the settings. */}}
{{- define "gpushare-webhook.selectsNamespaces" -}}
{{- range .namespaces }}{{ if kindIs "map" .selector }}true{{ end }}{{ end -}}
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

{{/*
`matchResources` of a binding: the namespaces and objects that the hooks see. Takes the root and the `selector` of a hook.
*/}}
{{- define "gpushare-webhook.policyMatch" -}}
namespaceSelector:
  {{- include "gpushare-webhook.namespaceSelector" . | nindent 2 }}
{{- with .root.Values.webhooks.objectSelector }}
objectSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The parameters of policies. Without the object, they do nothing. */}}
{{- define "gpushare-webhook.paramRef" -}}
name: {{ include "gpushare-webhook.parameters" . }}
namespace: {{ include "gpushare-webhook.namespace" . | quote }}
parameterNotFoundAction: Allow
{{- end -}}

{{/*
The variables of a policy in JSON: fixed expressions, and data. Takes the root, the `policy` with the `names` of its variables
and its `own` expressions, the `shared` ones, and the expressions of `parameters`, and of `limits` with `%s` for those of the settings.
*/}}
{{- define "gpushare-webhook.policyVariables" -}}
{{- $expressions := merge (include "gpushare-webhook.policyData" .root | fromJson) .policy.own .shared -}}
{{- with .parameters }}{{ $_ := set $expressions "parameters" . }}{{ end -}}
{{- with .limits }}{{ $_ := set $expressions "limits" (printf . $expressions.limits) }}{{ end -}}
{{- $variables := list -}}
{{- range .policy.names }}{{ $variables = append $variables (dict "name" . "expression" (get $expressions .)) }}{{ end -}}
{{- toJson $variables -}}
{{- end -}}

{{/* A policy and its binding. Takes the root, the `kind`, and the `policy`: its `name`, `spec` and `binding`. */}}
{{- define "gpushare-webhook.policy" -}}
{{- $name := printf "%s-%s" (include "gpushare-webhook.fullname" .root) .policy.name -}}
{{- $labels := dict "root" .root "labels" (include "gpushare-webhook.policyLabel" . | fromYaml) }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ $name }}
  labels:
    {{- include "gpushare-webhook.labelsWith" $labels | nindent 4 }}
spec:
  {{- toYaml .policy.spec | nindent 2 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ $name }}
  labels:
    {{- include "gpushare-webhook.labelsWith" $labels | nindent 4 }}
spec:
  policyName: {{ $name }}
  {{- toYaml .policy.binding | nindent 2 }}
{{- end -}}
