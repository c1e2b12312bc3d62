{{/* The name of all objects. Short enough for a Service's name and a certificate's common name. */}}
{{- define "gpushare-webhook.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The namespace of the objects: that of the release, unless `namespaceOverride` is set. */}}
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

{{/* One mapping out of several, as YAML: of equal keys the last one counts. Takes a list of mappings. */}}
{{- define "gpushare-webhook.merged" -}}
{{- $all := dict -}}
{{- range . }}{{ range $key, $value := . }}{{ $all = set $all $key $value }}{{ end }}{{ end -}}
{{- with $all }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "gpushare-webhook.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "gpushare-webhook.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Labels of an object. Takes the root and `labels`, the user's for this object. */}}
{{- define "gpushare-webhook.labelsWith" -}}
{{- $own := include "gpushare-webhook.ownLabels" .root | fromYaml -}}
{{- include "gpushare-webhook.merged" (list .root.Values.commonLabels .labels $own) -}}
{{- end -}}

{{- define "gpushare-webhook.labels" -}}
{{- include "gpushare-webhook.labelsWith" (dict "root" . "labels" dict) -}}
{{- end -}}

{{/* `metadata` of an object in the namespace. Takes the root and `labels`, the user's for this object. */}}
{{- define "gpushare-webhook.metadataWith" -}}
name: {{ include "gpushare-webhook.fullname" .root }}
namespace: {{ include "gpushare-webhook.namespace" .root | quote }}
labels:
  {{- include "gpushare-webhook.labelsWith" . | nindent 2 }}
{{- end -}}

{{- define "gpushare-webhook.metadata" -}}
{{- include "gpushare-webhook.metadataWith" (dict "root" . "labels" dict) -}}
{{- end -}}

{{/* The label that distinguishes the Service for metrics from the one for reviews. */}}
{{- define "gpushare-webhook.metricsLabel" -}}
app.kubernetes.io/component: metrics
{{- end -}}

{{/* The IP families of both Services; empty for the cluster's default. */}}
{{- define "gpushare-webhook.ipFamilies" -}}
{{- $given := dict -}}
{{- range $key := list "ipFamilyPolicy" "ipFamilies" -}}
{{- with get $.Values.service $key }}{{ $given = set $given $key . }}{{ end -}}
{{- end -}}
{{- with $given }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* The Role in the namespaces of the device plugin, one of which may be the webhook's own. */}}
{{- define "gpushare-webhook.devicePluginRole" -}}
{{- include "gpushare-webhook.fullname" . }}-device-plugin
{{- end -}}

{{- define "gpushare-webhook.serviceAccountName" -}}
{{- $own := "default" -}}
{{- if .Values.serviceAccount.create }}{{ $own = include "gpushare-webhook.fullname" . }}{{ end -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end -}}

{{- define "gpushare-webhook.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}
