{{/* Annotations of an object that lives while `helm test` runs. Takes its place in the order. */}}
{{- define "gpushare-webhook.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ quote . }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
