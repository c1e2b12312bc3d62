{{/*
Rejects combinations that would install but not work, each with what is wrong, where, and what to do. The program itself
reports contradictions within `config`, and the API server those within an object.
*/}}
{{- define "gpushare-webhook.validate" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}

{{- /* `global` belongs to a parent chart, which sets it for all its charts. Without one, a global value is a typo. */ -}}
{{- range $key, $_ := .Values.global -}}
{{- if $.Chart.IsRoot -}}
{{- fail (printf "global.%s is set, but no value of this chart is global: remove it, and look up the value in the chart's README.md" $key) -}}
{{- end -}}
{{- end -}}

{{- $ports := list (int $settings.server.port) (int $settings.server.healthPort) -}}
{{- if has 0 $ports -}}
{{- fail "config.server.port and config.server.healthPort must not be 0 here: the Services and the probes refer to them" -}}
{{- end -}}
{{- if and .Values.hostNetwork (has 10250 $ports) -}}
{{- fail "hostNetwork: port 10250 of a node is the kubelet's; set config.server.port to another one" -}}
{{- end -}}

{{- /* Values of another mode would be ignored, and two writers of one bundle would overwrite each other. */ -}}
{{- $tls := .Values.tls -}}
{{- if not $tls.mode -}}
{{- fail "tls.mode is null: set it to self-managed, cert-manager or existing-secret" -}}
{{- end -}}
{{- range $mode, $values := omit (dict "existing-secret" (pick $tls.existingSecret "name" "caBundle" "annotations") "cert-manager" (pick $tls.certManager "issuerRef" "dnsNames")) $tls.mode -}}
{{- range $key, $value := $values -}}
{{- if $value -}}
{{- fail (printf "tls.%s.%s is set, but tls.mode is %s: set tls.mode to %s, or remove the value" (camelcase $mode | untitle) $key $tls.mode $mode) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := .Values.webhooks.annotations -}}
{{- if hasPrefix "cert-manager.io/inject-" $key -}}
{{- fail (printf "webhooks.annotations has %s: another program would also write the authority; use tls.mode cert-manager, or tls.existingSecret.annotations" $key) -}}
{{- end -}}
{{- end -}}
{{- if eq $tls.mode "existing-secret" -}}
{{- $given := $tls.existingSecret -}}
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

{{- $mounted := "/etc/gpushare-webhook/client-ca/ca.crt" -}}
{{- $isRead := eq $mounted ($settings.tls.clientCA | default "") -}}
{{- if and $tls.clientCA.secretName (not $isRead) -}}
{{- fail (printf "tls.clientCA.secretName is set: set config.tls.clientCA to %s, or the server requests no client certificates" $mounted) -}}
{{- else if and $isRead (not $tls.clientCA.secretName) -}}
{{- fail (printf "config.tls.clientCA is %s: set its Secret in tls.clientCA.secretName" $mounted) -}}
{{- end -}}

{{- $called := include "gpushare-webhook.calledHost" . -}}
{{- if and $called (eq $tls.mode "self-managed") (not (has $called (prepend $settings.tls.extraHosts (include "gpushare-webhook.host" .)))) -}}
{{- fail (printf "webhooks.url: add %s to config.tls.extraHosts, so that the self-managed certificate contains it" $called) -}}
{{- end -}}

{{- /* A budget that allows no disruption blocks the drain of a node indefinitely. */ -}}
{{- if include "gpushare-webhook.hasBudget" . -}}
{{- $replicas := include "gpushare-webhook.leastReplicas" . | int -}}
{{- $least := .Values.podDisruptionBudget.minAvailable -}}
{{- $most := .Values.podDisruptionBudget.maxUnavailable -}}
{{- if not (kindIs "invalid" $least) -}}
{{- $stay := $least -}}
{{- if kindIs "string" $least }}{{ $stay = div (add (mul (trimSuffix "%" $least) $replicas) 99) 100 }}{{ end -}}
{{- if ge (int $stay) $replicas -}}
{{- fail (printf "podDisruptionBudget.minAvailable %v of %d replicas allows no disruption, so no node could be drained: decrease it" $least $replicas) -}}
{{- end -}}
{{- else if kindIs "invalid" $most -}}
{{- fail "podDisruptionBudget: minAvailable and maxUnavailable are both null; set one, or enabled to false" -}}
{{- else if has (toString $most) (list "0" "0%") -}}
{{- fail "podDisruptionBudget.maxUnavailable is 0, so no node could be drained: increase it" -}}
{{- end -}}
{{- end -}}

{{- /* With too small a quota, an update would wait forever for its first pod. */ -}}
{{- $pods := include "gpushare-webhook.quotaPods" . | int -}}
{{- $most := include "gpushare-webhook.mostReplicas" . | int -}}
{{- if and $pods (le $pods $most) -}}
{{- fail (printf "resourceQuota.pods %d leaves no room to update %d replicas: increase it" $pods $most) -}}
{{- end -}}

{{- $needed := include "gpushare-webhook.stopSeconds" . | int -}}
{{- with .Values.terminationGracePeriodSeconds -}}
{{- if lt (int .) $needed -}}
{{- fail (printf "terminationGracePeriodSeconds %d is shorter than the %d of config.server.shutdownDelay and drainTimeout: increase it, or leave it empty" (int .) $needed) -}}
{{- end -}}
{{- end -}}

{{- if hasKey (.Values.config | default dict) "guard" -}}
{{- fail "config.guard is written by the chart: remove it, and set guard.enabled" -}}
{{- end -}}
{{- with and .Values.guard.only (include "gpushare-webhook.guardAbsence" .) -}}
{{- fail (printf "guard.only is true, but %s, so that nothing would be installed: change that, or set guard.only to false" .) -}}
{{- end -}}

{{- /* Policies add up: a rule without peers would open the port to every pod, also where another policy closes it. */ -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.webhookFrom) -}}
{{- fail "networkPolicy.enabled is true, but networkPolicy.webhookFrom is empty, so that the API server could not reach the webhook: set it to the API server as the pods see it (docs/how-to/install.md, \"Limit the network traffic\")" -}}
{{- end -}}
{{- end -}}
