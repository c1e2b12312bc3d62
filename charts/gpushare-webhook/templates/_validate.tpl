{{/* Rejects combinations that would install but not work, each with what is wrong, where, and what to do. */}}
{{- define "gpushare-webhook.validate" -}}
{{- range $part := list "Global" "Ports" "TlsMode" "ClientCA" "Url" "Replicas" "Quota" "Times" "Sharing" "Policies" -}}
{{- include (printf "gpushare-webhook.validate%s" $part) $ -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.webhooks.matchConditions }}{{ $names = append $names .name }}{{ end -}}
{{- if ne (len $names) (len (uniq $names)) -}}
{{- fail "webhooks.matchConditions uses a name twice: give each condition a unique name" -}}
{{- end -}}
{{- end -}}

{{/* `global` belongs to a parent chart, which sets it for all its charts. Without one, a global value is a typo. */}}
{{- define "gpushare-webhook.validateGlobal" -}}
{{- if .Chart.IsRoot -}}
{{- range $key, $_ := .Values.global -}}
{{- fail (printf "global.%s is set, but no value of this chart is global: remove it, and look up the value in the chart's README.md" $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.validatePorts" -}}
{{- $port := include "gpushare-webhook.port" . | int -}}
{{- $health := include "gpushare-webhook.healthPort" . | int -}}
{{- if or (eq $port 0) (eq $health 0) -}}
{{- fail "config.server.port and config.server.healthPort must not be 0 here: the Services and the probes refer to them" -}}
{{- end -}}
{{- if eq $port $health -}}
{{- fail (printf "config.server.port and config.server.healthPort are both %d: choose different ports" $port) -}}
{{- end -}}
{{- if and .Values.hostNetwork (has 10250 (list $port $health)) -}}
{{- fail "hostNetwork: port 10250 of a node is the kubelet's; set config.server.port to another one" -}}
{{- end -}}
{{- if and .Values.service.nodePort (eq .Values.service.type "ClusterIP") -}}
{{- fail "service.nodePort is set, but service.type is ClusterIP: set service.type to NodePort or LoadBalancer, or remove the port" -}}
{{- end -}}
{{- end -}}

{{/* Values of another mode would be ignored, and two writers of one bundle would overwrite each other. */}}
{{- define "gpushare-webhook.validateTlsMode" -}}
{{- $mode := .Values.tls.mode -}}
{{- $given := .Values.tls.existingSecret -}}
{{- if not $mode -}}
{{- fail "tls.mode is null: set it to self-managed, cert-manager or existing-secret" -}}
{{- end -}}
{{- $others := dict "existing-secret" (dict "existingSecret" (list "name" "caBundle" "annotations")) "cert-manager" (dict "certManager" (list "issuerRef" "dnsNames")) -}}
{{- range $other, $sections := omit $others $mode -}}
{{- range $section, $keys := $sections -}}
{{- range $key := $keys -}}
{{- if get (get $.Values.tls $section | default dict) $key -}}
{{- fail (printf "tls.%s.%s is set, but tls.mode is %s: set tls.mode to %s, or remove the value" $section $key $mode $other) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq $mode "existing-secret" -}}
{{- if not $given.name -}}
{{- fail "tls.mode is existing-secret: set the Secret in tls.existingSecret.name" -}}
{{- end -}}
{{- if not (or $given.caBundle $given.annotations) -}}
{{- fail "tls.mode is existing-secret: set the authority in tls.existingSecret.caBundle, or the annotation that makes another program write it in tls.existingSecret.annotations" -}}
{{- end -}}
{{- if and $given.caBundle $given.annotations -}}
{{- fail "tls.existingSecret has caBundle and annotations: both would write the authority; remove one of them" -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := .Values.webhooks.annotations -}}
{{- if hasPrefix "cert-manager.io/inject-" $key -}}
{{- fail (printf "webhooks.annotations has %s: another program would also write the authority; use tls.mode cert-manager, or tls.existingSecret.annotations" $key) -}}
{{- end -}}
{{- end -}}
{{- if eq $mode "cert-manager" -}}
{{- $times := .Values.tls.certManager -}}
{{- range $key := list "duration" "renewBefore" -}}
{{- if not (get $times $key) -}}
{{- fail (printf "tls.certManager.%s is null: set it to a time such as 720h" $key) -}}
{{- end -}}
{{- end -}}
{{- if le (include "gpushare-webhook.seconds" $times.duration | int) (include "gpushare-webhook.seconds" $times.renewBefore | int) -}}
{{- fail (printf "tls.certManager.duration %s is not longer than renewBefore %s: increase duration or decrease renewBefore" $times.duration $times.renewBefore) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.validateClientCA" -}}
{{- $clientCA := (include "gpushare-webhook.settings" . | fromJson).tls.clientCA | default "" -}}
{{- $mounted := "/etc/gpushare-webhook/client-ca/ca.crt" -}}
{{- if and .Values.tls.clientCA.secretName (ne $clientCA $mounted) -}}
{{- fail (printf "tls.clientCA.secretName is set: set config.tls.clientCA to %s, or the server requests no client certificates" $mounted) -}}
{{- else if and (eq $clientCA $mounted) (not .Values.tls.clientCA.secretName) -}}
{{- fail (printf "config.tls.clientCA is %s: set its Secret in tls.clientCA.secretName" $mounted) -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.validateUrl" -}}
{{- $held := prepend (include "gpushare-webhook.settings" . | fromJson).tls.extraHosts (include "gpushare-webhook.host" .) -}}
{{- $called := include "gpushare-webhook.calledHost" . -}}
{{- if and $called (eq .Values.tls.mode "self-managed") (not (has $called $held)) -}}
{{- fail (printf "webhooks.url: add %s to config.tls.extraHosts, so that the self-managed certificate contains it" $called) -}}
{{- end -}}
{{- end -}}

{{/* A budget that allows no disruption blocks the drain of a node indefinitely. */}}
{{- define "gpushare-webhook.validateReplicas" -}}
{{- $scaling := .Values.autoscaling -}}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas %d is more than maxReplicas %d: decrease minReplicas or increase maxReplicas" (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- end -}}
{{- $replicas := include "gpushare-webhook.leastReplicas" . | int -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- if include "gpushare-webhook.hasBudget" . -}}
{{- if not (kindIs "invalid" $budget.minAvailable) -}}
{{- $stay := $budget.minAvailable -}}
{{- if kindIs "string" $stay }}{{ $stay = div (add (mul (trimSuffix "%" $stay) $replicas) 99) 100 }}{{ end -}}
{{- if ge (int $stay) $replicas -}}
{{- fail (printf "podDisruptionBudget.minAvailable %v of %d replicas allows no disruption, so no node could be drained: decrease it" $budget.minAvailable $replicas) -}}
{{- end -}}
{{- else if kindIs "invalid" $budget.maxUnavailable -}}
{{- fail "podDisruptionBudget: minAvailable and maxUnavailable are both null; set one, or enabled to false" -}}
{{- else if has (toString $budget.maxUnavailable) (list "0" "0%") -}}
{{- fail "podDisruptionBudget.maxUnavailable is 0, so no node could be drained: increase it" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* With too small a quota, an update would wait forever for its first pod. */}}
{{- define "gpushare-webhook.validateQuota" -}}
{{- $pods := include "gpushare-webhook.quotaPods" . | int -}}
{{- $most := include "gpushare-webhook.mostReplicas" . | int -}}
{{- if and $pods (le $pods $most) -}}
{{- fail (printf "resourceQuota.pods %d leaves no room to update %d replicas: increase it" $pods $most) -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.validateTimes" -}}
{{- $needed := include "gpushare-webhook.stopSeconds" . | int -}}
{{- with .Values.terminationGracePeriodSeconds -}}
{{- if lt (int .) $needed -}}
{{- fail (printf "terminationGracePeriodSeconds %d is shorter than the %d of config.server.shutdownDelay and drainTimeout: increase it, or leave it empty" (int .) $needed) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.validateSharing" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- if and $settings.sharing.namespaces (not $settings.facts.namespaces) -}}
{{- fail "config.sharing.namespaces needs config.facts.namespaces: true, or the webhook would not know which namespaces have these labels" -}}
{{- end -}}
{{- end -}}
