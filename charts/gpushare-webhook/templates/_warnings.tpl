{{/* What an administrator should know about the chosen values, each after an empty line. */}}
{{- define "gpushare-webhook.warnings" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- if and (lt (int .Values.replicas) 2) (not .Values.autoscaling.enabled) }}

WARNING: with one replica nobody answers while it moves to another node.
{{- end }}
{{- if and (eq .Values.webhooks.validating.failurePolicy "Ignore") (eq $settings.mode "enforce") }}

WARNING: webhooks.validating.failurePolicy is Ignore: while no replica answers, GPU pods are made unchecked.
{{- end }}
{{- if eq .Values.webhooks.mutating.failurePolicy "Fail" }}

WARNING: webhooks.mutating.failurePolicy is Fail: while no replica answers, GPU pods are refused.
{{- end }}
{{- $judged := list }}
{{- range .Values.webhooks.customKinds }}{{ $judged = append $judged (printf "%s/%s" .group .kind) }}{{ end }}
{{- range $settings.workloads.paths }}
{{- $kind := printf "%s/%s" .group .kind }}
{{- if not (has $kind $judged) }}
{{- $judged = append $judged $kind }}

WARNING: config.workloads.paths names {{ $kind }}, but the API server sends it only if webhooks.customKinds names it too.
{{- end }}
{{- end }}
{{- if eq .Release.Namespace "default" }}

WARNING: the namespace "default" holds the webhook and is left alone by it. Install it into one of its own.
{{- end }}
{{- if and (include "gpushare-webhook.callsApiServer" .) (not .Values.rbac.create) }}

WARNING: rbac.create is false: give the service account {{ include "gpushare-webhook.serviceAccountName" . }} its rights.
{{- end }}
{{- if and .Values.test.enabled (has .Values.test.namespace (include "gpushare-webhook.excluded" . | fromJsonArray)) (ne .Values.test.namespace .Release.Namespace) }}

WARNING: test.namespace {{ .Values.test.namespace }} is left alone by the webhook, so there is no `helm test`. Name another.
{{- end }}
{{- if .Values.hostNetwork }}

WARNING: hostNetwork needs a node with the port free for each replica, and one more for updates.
{{- end }}
{{- if eq .Values.tls.mode "existing-secret" }}

WARNING: you renew the Secret {{ .Values.tls.existingSecret.name }}. A new authority goes into the bundle first, then into the Secret.
{{- end }}
{{- end -}}
