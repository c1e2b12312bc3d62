{{/* The name of all objects. Short enough for a Service's name and a certificate's common name. */}}
{{- define "gpushare-webhook.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "gpushare-webhook.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/* What the API server calls, and what the certificate must hold. */}}
{{- define "gpushare-webhook.host" -}}
{{- include "gpushare-webhook.fullname" . }}.{{ include "gpushare-webhook.namespace" . }}.svc
{{- end -}}

{{- define "gpushare-webhook.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/*
`metadata` of an object. Takes the root, and optionally a `name`, or a `suffix` of the usual name, a `namespace` other than the
usual one, `clusterWide` if it has none, the user's `labels` for this object, and `annotations`.
*/}}
{{- define "gpushare-webhook.metadata" -}}
metadata:
  name: {{ .name | default (include "gpushare-webhook.fullname" .root) }}{{ .suffix | default "" }}
  {{- if not .clusterWide }}
  namespace: {{ .namespace | default (include "gpushare-webhook.namespace" .root) | quote }}
  {{- end }}
  labels:
    {{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
    {{- $own := dict "helm.sh/chart" $chart "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service }}
    {{- $selected := include "gpushare-webhook.selectorLabels" .root | fromYaml }}
    {{- mergeOverwrite dict (.root.Values.commonLabels | default dict) (.labels | default dict) $own $selected | toYaml | nindent 4 }}
  annotations:
    {{- $annotations := .annotations | default dict }}
    {{- $render := dict "gpushare-webhook/render" (include "gpushare-webhook.render" .root) }}
    {{- mergeOverwrite dict $annotations (hasKey $annotations "helm.sh/hook" | ternary dict $render) | toYaml | nindent 4 }}
{{- end -}}

{{/*
The render that an object comes from: the installation, and a digest of what decides about its objects. What an apply without
pruning leaves behind has the digest of a former render, by which `doctor` finds it. `global` may hold secrets of a parent chart.
*/}}
{{- define "gpushare-webhook.render" -}}
{{- $digest := omit .Values "global" "effectiveSettings" | toJson | print .Chart.Version | sha256sum | trunc 16 -}}
{{- include "gpushare-webhook.namespace" . }}/{{ include "gpushare-webhook.fullname" . }}@{{ $digest -}}
{{- end -}}

{{- define "gpushare-webhook.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create | default false | ternary (include "gpushare-webhook.fullname" .) "default" -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end -}}

{{/*
The role and the service account of a binding. Takes the root, the `kind` of the role, and optionally the `suffix` of its name,
and an `account` other than that of the pods.
*/}}
{{- define "gpushare-webhook.granted" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ include "gpushare-webhook.fullname" .root }}{{ .suffix | default "" }}
subjects:
  - kind: ServiceAccount
    name: {{ .account | default (include "gpushare-webhook.serviceAccountName" .root) }}
    namespace: {{ include "gpushare-webhook.namespace" .root | quote }}
{{- end -}}

{{/*
The image of the pods. No default would be safe: the project publishes no image, so the repository's name on a public
registry belongs to the first who registers it. A digest names the content, wherever it comes from.
*/}}
{{- define "gpushare-webhook.image" -}}
{{- if not (or .Values.image.registry .Values.image.digest) -}}
{{- $otherwise := .Values.guard.only | default false | ternary ", or set test.enabled to false" "" -}}
{{- fail (printf "image.registry is empty, and this project publishes no image: build the image, push it to your registry, and set image.registry (docs/how-to/install.md)%s" $otherwise) -}}
{{- end -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}
