{{/* Whether there is something for `helm test` to see, and it may have the right to look. */}}
{{- define "gpushare-webhook.tests" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- /* YAML reads `on` as true. */ -}}
{{- $silent := and (eq $settings.mode "audit") (not (has $settings.injections.mode (list "on" true))) -}}
{{- if and .Values.test.enabled .Values.rbac.create (not (has .Values.test.namespace (include "gpushare-webhook.excluded" . | fromJsonArray))) (not $silent) }}true{{ end -}}
{{- end -}}

{{/* Annotations of an object that lives while `helm test` runs. Takes its place in the order. */}}
{{- define "gpushare-webhook.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ quote . }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
