{{/* What all objects are called. Short enough for a Service's name and a certificate's common name. */}}
{{- define "gpushare-webhook.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* What the API server calls, and what the certificate must hold. */}}
{{- define "gpushare-webhook.host" -}}
{{- include "gpushare-webhook.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "gpushare-webhook.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "gpushare-webhook.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "gpushare-webhook.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* `metadata` of an object in the release's namespace, with its labels open for more. */}}
{{- define "gpushare-webhook.metadata" -}}
name: {{ include "gpushare-webhook.fullname" . }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "gpushare-webhook.labels" . | nindent 2 }}
{{- end -}}

{{- define "gpushare-webhook.serviceAccountName" -}}
{{- $made := .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (ternary (include "gpushare-webhook.fullname" .) "default" $made) -}}
{{- end -}}

{{- define "gpushare-webhook.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}
