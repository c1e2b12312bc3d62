{{/* Whether there is something for `helm test` to see, and it may have the right to look. */}}
{{- define "gpushare-webhook.tests" -}}
{{- $excluded := include "gpushare-webhook.excluded" . | fromJsonArray -}}
{{- if and .Values.test.enabled .Values.rbac.create (not (has .Values.test.namespace $excluded)) }}true{{ end -}}
{{- end -}}

{{/* Annotations of an object that lives while `helm test` runs. Takes its place in the order. */}}
{{- define "gpushare-webhook.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ quote . }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
