{{/* The settings of the settings file, or the program's defaults. */}}

{{- define "gpushare-webhook.port" -}}
{{- dig "server" "port" 10250 (.Values.config | default dict) -}}
{{- end -}}

{{- define "gpushare-webhook.healthPort" -}}
{{- dig "server" "healthPort" 8080 (.Values.config | default dict) -}}
{{- end -}}

{{/* A duration such as `1h30m` or `500ms` in whole seconds, rounded up. */}}
{{- define "gpushare-webhook.seconds" -}}
{{- $milliseconds := 0 -}}
{{- $units := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- range regexFindAll "[0-9]+(h|ms|m|s)" . -1 -}}
{{- $milliseconds = add $milliseconds (mul (regexFind "[0-9]+" .) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- div (add $milliseconds 999) 1000 -}}
{{- end -}}

{{/* How many seconds the server takes to stop at most: until its endpoints are removed, and until everything is answered. */}}
{{- define "gpushare-webhook.stopSeconds" -}}
{{- $config := .Values.config | default dict -}}
{{- $delay := include "gpushare-webhook.seconds" (dig "server" "shutdownDelay" "10s" $config) -}}
{{- $drain := include "gpushare-webhook.seconds" (dig "server" "drainTimeout" "10s" $config) -}}
{{- add $delay $drain -}}
{{- end -}}

{{/* How many seconds a pod may take to stop: a few more. */}}
{{- define "gpushare-webhook.gracePeriod" -}}
{{- .Values.terminationGracePeriodSeconds | default (add (include "gpushare-webhook.stopSeconds" .) 5) -}}
{{- end -}}

{{- define "gpushare-webhook.leastReplicas" -}}
{{- ternary .Values.autoscaling.minReplicas .Values.replicas .Values.autoscaling.enabled -}}
{{- end -}}

{{/* The names of the GPU resources, a list in JSON. MIG resources are recognized by their prefix. */}}
{{- define "gpushare-webhook.resourceNames" -}}
{{- $names := list -}}
{{- range dig "resources" (list (dict "name" "nvidia.com/gpu") (dict "name" "nvidia.com/gpu.shared")) (.Values.config | default dict) -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The first resource that is shared; empty when none is. */}}
{{- define "gpushare-webhook.firstShared" -}}
{{- $shared := list -}}
{{- range dig "resources" (list (dict "name" "nvidia.com/gpu")) (.Values.config | default dict) -}}
{{- if eq "shared" (.kind | default "shared") }}{{ $shared = append $shared .name }}{{ end -}}
{{- end -}}
{{- with $shared }}{{ first . }}{{ end -}}
{{- end -}}

{{/* A name to try the webhook with, preferably a shared one, of which two are too many. */}}
{{- define "gpushare-webhook.triedResource" -}}
{{- $named := include "gpushare-webhook.resourceNames" . | fromJsonArray | first | default "nvidia.com/gpu" -}}
{{- include "gpushare-webhook.firstShared" . | default $named -}}
{{- end -}}

{{/* Whether an injection is on. Takes the root, the injection, and whether it is on by default. */}}
{{- define "gpushare-webhook.injects" -}}
{{- $config := .root.Values.config | default dict -}}
{{- $usual := and .usual (ne (get $config "profile") "none") -}}
{{- if dig "injections" .injection "enabled" $usual $config }}true{{ end -}}
{{- end -}}

{{/* Whether pods without a Pod Security label may mount hostPath volumes. OpenShift's own rules forbid it. */}}
{{- define "gpushare-webhook.unlabelledMayMount" -}}
{{- $config := .Values.config | default dict -}}
{{- $usual := ternary "restricted" "privileged" (eq (get $config "profile") "openshift") -}}
{{- if eq "privileged" (dig "podSecurity" "unlabelled" $usual $config) }}true{{ end -}}
{{- end -}}

{{- define "gpushare-webhook.readsRuntimeClasses" -}}
{{- if dig "facts" "runtimeClasses" false (.Values.config | default dict) }}true{{ end -}}
{{- end -}}

{{/* The settings that the program reads only at its start, in JSON. */}}
{{- define "gpushare-webhook.processSettings" -}}
{{- pick (.Values.config | default dict) "server" "tls" "log" "facts" | toJson -}}
{{- end -}}

{{/* Whether the pods call the API server at all. */}}
{{- define "gpushare-webhook.callsApiServer" -}}
{{- if or (eq .Values.tls.mode "self-managed") (include "gpushare-webhook.readsRuntimeClasses" .) }}true{{ end -}}
{{- end -}}
