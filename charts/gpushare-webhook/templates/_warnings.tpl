{{/* Warnings about the chosen values, each after an empty line. */}}
{{- define "gpushare-webhook.warnings" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- if and (lt (int .Values.replicas) 2) (not .Values.autoscaling.enabled) }}

WARNING: a single replica cannot answer while it moves to another node. Set replicas to 2 or more.
{{- end }}
{{- if and (eq .Values.webhooks.validating.failurePolicy "Ignore") (eq $settings.mode "enforce") }}

WARNING: webhooks.validating.failurePolicy is Ignore: while no replica answers, GPU pods are admitted unchecked.
{{- end }}
{{- if eq .Values.webhooks.mutating.failurePolicy "Fail" }}

WARNING: webhooks.mutating.failurePolicy is Fail: while no replica answers, GPU pods are rejected.
{{- end }}
{{- $checked := list }}
{{- range .Values.webhooks.customKinds }}{{ $checked = append $checked (printf "%s/%s" .group .kind) }}{{ end }}
{{- range $settings.workloads.paths }}
{{- $kind := printf "%s/%s" .group .kind }}
{{- if not (has $kind $checked) }}
{{- $checked = append $checked $kind }}

WARNING: config.workloads.paths names {{ $kind }}, but the API server sends it only if you also add it to webhooks.customKinds.
{{- end }}
{{- end }}
{{- if eq .Release.Namespace "default" }}

WARNING: the webhook runs in the namespace "default" and ignores it. Install it into a namespace of its own.
{{- end }}
{{- if and (include "gpushare-webhook.callsApiServer" .) (not .Values.rbac.create) }}

WARNING: rbac.create is false: grant the service account {{ include "gpushare-webhook.serviceAccountName" . }} its permissions.
{{- end }}
{{- if and .Values.test.enabled (has .Values.test.namespace (include "gpushare-webhook.excluded" . | fromJsonArray)) (ne .Values.test.namespace .Release.Namespace) }}

WARNING: the webhook ignores test.namespace {{ .Values.test.namespace }}, so there is no `helm test`. Choose another.
{{- end }}
{{- if .Values.hostNetwork }}

WARNING: hostNetwork needs one node per replica on which the port is free, and one more for updates.
{{- end }}
{{- if eq .Values.tls.mode "existing-secret" }}

WARNING: you must renew the Secret {{ .Values.tls.existingSecret.name }} yourself. Put a new authority into the bundle first, then into the Secret.
{{- end }}
{{- end -}}
