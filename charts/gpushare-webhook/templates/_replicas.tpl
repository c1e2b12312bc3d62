{{- define "gpushare-webhook.leastReplicas" -}}
{{- if .Values.autoscaling.enabled }}{{ .Values.autoscaling.minReplicas }}{{ else }}{{ .Values.replicas }}{{ end -}}
{{- end -}}

{{- define "gpushare-webhook.mostReplicas" -}}
{{- if .Values.autoscaling.enabled }}{{ .Values.autoscaling.maxReplicas }}{{ else }}{{ .Values.replicas }}{{ end -}}
{{- end -}}

{{/* Whether there is a budget for disruptions: a budget for a single replica protects nothing. */}}
{{- define "gpushare-webhook.hasBudget" -}}
{{- if and (not .Values.guard.only) .Values.podDisruptionBudget.enabled (gt (include "gpushare-webhook.mostReplicas" . | int) 1) }}true{{ end -}}
{{- end -}}

{{/*
How many pods the ResourceQuota allows; empty when there is none. A rollout may double the number of pods, and pods that
stop count until their grace period ends, so three times the replicas are allowed, and never less than in Gatekeeper's
chart (open-policy-agent/gatekeeper, `podCountLimit`).
*/}}
{{- define "gpushare-webhook.quotaPods" -}}
{{- $limited := has .Values.priorityClassName (list "system-cluster-critical" "system-node-critical") -}}
{{- if and (not .Values.guard.only) .Values.resourceQuota.enabled $limited (ne (include "gpushare-webhook.namespace" .) "kube-system") -}}
{{- .Values.resourceQuota.pods | default (max 100 (mul 3 (include "gpushare-webhook.mostReplicas" . | int))) -}}
{{- end -}}
{{- end -}}
