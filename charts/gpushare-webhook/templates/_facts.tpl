{{/* What the webhook reads from the API server, and with which rights. docs/how-to/install.md lists them for users. */}}

{{/* The sources of `config.facts` that are read in the whole cluster, those that are on, as a list in JSON. */}}
{{- define "gpushare-webhook.clusterSources" -}}
{{- $facts := (include "gpushare-webhook.settings" . | fromJson).facts -}}
{{- $on := list -}}
{{- range list "nodes" "namespaces" "runtimeClasses" "deviceClasses" -}}
{{- if get $facts . }}{{ $on = append $on . }}{{ end -}}
{{- end -}}
{{- toJson $on -}}
{{- end -}}

{{/*
The objects that `config.facts.devicePlugin` names, in JSON: by namespace, `configMaps` and `daemonSets`, lists of names.
*/}}
{{- define "gpushare-webhook.devicePluginObjects" -}}
{{- $found := dict -}}
{{- with (include "gpushare-webhook.settings" . | fromJson).facts.devicePlugin -}}
{{- range $kind, $references := dict "configMaps" .configMaps "daemonSets" (compact (list .daemonSet)) -}}
{{- range $references -}}
{{- $namespace := dir . -}}
{{- $names := get $found $namespace | default dict -}}
{{- $_ := set $names $kind (get $names $kind | default list | concat (list (base .)) | uniq | sortAlpha) -}}
{{- $_ := set $found $namespace $names -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Whether the pods write Events. */}}
{{- define "gpushare-webhook.writesEvents" -}}
{{- if (include "gpushare-webhook.settings" . | fromJson).events.enabled }}true{{ end -}}
{{- end -}}

{{/* Whether the pods have rights in the whole cluster. */}}
{{- define "gpushare-webhook.hasClusterRights" -}}
{{- $any := or (eq .Values.tls.mode "self-managed") (include "gpushare-webhook.clusterSources" . | fromJsonArray) (include "gpushare-webhook.writesEvents" .) -}}
{{- if and $any (include "gpushare-webhook.hasWebhook" .) }}true{{ end -}}
{{- end -}}

{{/* Whether the pods call the API server at all. */}}
{{- define "gpushare-webhook.callsApiServer" -}}
{{- if or (include "gpushare-webhook.hasClusterRights" .) (include "gpushare-webhook.devicePluginObjects" . | fromJson) (include "gpushare-webhook.writesParameters" .) }}true{{ end -}}
{{- end -}}
