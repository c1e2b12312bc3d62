{{/* Why there is no guard; empty if there is one. As webhook/guard/__init__.py decides. */}}
{{- define "gpushare-webhook.guardAbsence" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $table := include "gpushare-webhook.guardTable" . | fromJson -}}
{{- $enabled := toString .Values.guard.enabled -}}
{{- if eq "false" $enabled }}guard.enabled is false
{{- else if ne "enforce" $settings.mode }}config.mode is {{ $settings.mode }}
{{- else if not (include "gpushare-webhook.denies" (dict "in" $settings "code" "GPS001")) }}the severity of GPS001 is {{ $settings.severities.GPS001 | default "off" }}
{{- else if kindIs "invalid" $settings.limits.perContainer }}config.limits.perContainer is null
{{- else if not (include "gpushare-webhook.sharedNames" . | fromJsonArray) }}no resource is shared
{{- else -}}
{{- $reasons := list -}}
{{- range concat $table.neverWith (eq "true" $enabled | ternary list $table.askedWith) -}}
{{- $keys := splitList "." . -}}
{{- if get (get $settings (first $keys)) (last $keys) }}{{ $reasons = append $reasons (printf "config.%s is set" .) }}{{ end -}}
{{- end -}}
{{- range $settings.namespaces -}}
{{- if and .selector (include "gpushare-webhook.lowers" .) }}{{ $reasons = append $reasons "an entry of config.namespaces with a selector lowers the mode or a severity" }}{{ end -}}
{{- end -}}
{{- with $reasons }}{{ first . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Whether a check denies, as it does by default. Takes `in` with `severities`, and `code`. YAML reads `off` as false. */}}
{{- define "gpushare-webhook.denies" -}}
{{- if has (get .in.severities .code) (list "deny" "") }}true{{ end -}}
{{- end -}}

{{/* Whether an entry of `namespaces` lowers the mode or a severity of the guard. */}}
{{- define "gpushare-webhook.lowers" -}}
{{- $denies := and (include "gpushare-webhook.denies" (dict "in" . "code" "GPS001")) (include "gpushare-webhook.denies" (dict "in" . "code" "GPS002")) -}}
{{- if not (and (eq "enforce" (.mode | default "enforce")) $denies) }}true{{ end -}}
{{- end -}}

{{/* The ServiceAccount whose annotation caps the mode. */}}
{{- define "gpushare-webhook.modeAccount" -}}
{{- include "gpushare-webhook.fullname" . }}{{ (include "gpushare-webhook.guardTable" . | fromJson).suffix -}}
{{- end -}}

{{/* What happens to GPU pods and built-in workloads while no replica answers. */}}
{{- define "gpushare-webhook.validatingFailurePolicy" -}}
{{- .Values.webhooks.validating.failurePolicy | default (include "gpushare-webhook.guardAbsence" . | empty | ternary "Ignore" "Fail") -}}
{{- end -}}
