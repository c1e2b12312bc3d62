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

{{/* `metadata` of an object for Prometheus' operator or Grafana. Takes the root and `labels`. */}}
{{- define "gpushare-webhook.monitoringMetadata" -}}
{{ include "gpushare-webhook.metadata" .root }}
{{- with .labels }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
