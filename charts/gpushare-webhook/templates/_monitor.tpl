{{/* One endpoint of a monitor. Takes its values. */}}
{{- define "gpushare-webhook.endpoint" -}}
- port: health
  path: /metrics
  {{- range $key := list "interval" "scrapeTimeout" "relabelings" "metricRelabelings" }}
  {{- with index $ $key }}
  {{ $key }}: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{/*
The rest of a certificate's life, in seconds, at which its renewal is late. Takes the root, and of a self-managed
certificate the `key` of its life in `config.tls` and the `part` of it that is late.
*/}}
{{- define "gpushare-webhook.late" -}}
{{- if eq .root.Values.tls.mode "self-managed" -}}
{{- $life := include "gpushare-webhook.seconds" (get (include "gpushare-webhook.settings" .root | fromJson).tls .key) -}}
{{- div $life .part -}}
{{- else if eq .root.Values.tls.mode "cert-manager" -}}
{{- div (include "gpushare-webhook.seconds" .root.Values.tls.certManager.renewBefore) 3 -}}
{{- else -}}
604800
{{- end -}}
{{- end -}}
