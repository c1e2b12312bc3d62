{{/* What `tls.mode` needs. Wrong combinations end the rendering with what to do. */}}

{{/* Where the webhook's own authority lives. */}}
{{- define "gpushare-webhook.caSecret" -}}
{{- include "gpushare-webhook.fullname" . }}-ca
{{- end -}}

{{/* The Secret with the serving certificate; empty when the webhook signs its own. */}}
{{- define "gpushare-webhook.tlsSecret" -}}
{{- if eq .Values.tls.mode "cert-manager" -}}
{{- include "gpushare-webhook.fullname" . }}-tls
{{- else if eq .Values.tls.mode "existing-secret" -}}
{{- .Values.tls.existingSecret.name -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.tlsArguments" -}}
{{- if eq .Values.tls.mode "self-managed" -}}
- --tls-mode=self-managed
{{- else -}}
{{- $keys := ternary (dict "certKey" "tls.crt" "keyKey" "tls.key") .Values.tls.existingSecret (eq .Values.tls.mode "cert-manager") -}}
- --tls-mode=files
- --tls-cert=/etc/gpushare-webhook/tls/{{ $keys.certKey }}
- --tls-key=/etc/gpushare-webhook/tls/{{ $keys.keyKey }}
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
