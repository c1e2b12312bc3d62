{{/* What the webhook reads from the API server, and with which rights. docs/how-to/install.md lists them for users. */}}

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

{{- define "gpushare-webhook.hasClusterRights" -}}
{{- $facts := (include "gpushare-webhook.settings" . | fromJson).facts -}}
{{- $any := or (eq .Values.tls.mode "self-managed") $facts.nodes $facts.namespaces $facts.runtimeClasses $facts.deviceClasses -}}
{{- if and $any (not .Values.guard.only) }}true{{ end -}}
{{- end -}}

{{- define "gpushare-webhook.callsApiServer" -}}
{{- $reads := or (include "gpushare-webhook.hasClusterRights" .) (include "gpushare-webhook.devicePluginObjects" . | fromJson) -}}
{{- if and $reads (not .Values.guard.only) }}true{{ end -}}
{{- end -}}
