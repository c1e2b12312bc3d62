{{/* The Secret with the serving certificate; empty when the webhook signs its own. */}}
{{- define "gpushare-webhook.tlsSecret" -}}
{{- if eq .Values.tls.mode "cert-manager" -}}
{{- include "gpushare-webhook.fullname" . }}-tls
{{- else if eq .Values.tls.mode "existing-secret" -}}
{{- .Values.tls.existingSecret.name -}}
{{- end -}}
{{- end -}}

{{/* The host in `webhooks.url`, without its port and without the brackets of an IPv6 address. */}}
{{- define "gpushare-webhook.calledHost" -}}
{{- (urlParse (.Values.webhooks.url | default "https://")).host | regexFind "^(\\[.*]|[^:]*)" | trimAll "[]" -}}
{{- end -}}

{{/* The chart renders an authority only where a user gives one: in the other modes another program writes it. */}}
{{- define "gpushare-webhook.caBundle" -}}
{{- if eq .Values.tls.mode "existing-secret" -}}
{{- with .Values.tls.existingSecret.caBundle }}{{ b64enc . }}{{ end -}}
{{- end -}}
{{- end -}}
