{{/* What `tls.mode` needs. Wrong combinations end the rendering with what to do. */}}

{{/* Where the webhook's own authority lives. */}}
{{- define "gpushare-webhook.caSecret" -}}
{{- include "gpushare-webhook.fullname" . }}-ca
{{- end -}}

{{/* The Secret with the serving certificate; empty when the webhook signs its own. */}}
{{- define "gpushare-webhook.tlsSecret" -}}
{{- if eq .Values.tls.mode "cert-manager" -}}
{{- include "gpushare-webhook.fullname" . }}-tls
{{- else if eq .Values.tls.mode "existing-secret" -}}
{{- .Values.tls.existingSecret.name -}}
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.tlsArguments" -}}
{{- if eq .Values.tls.mode "self-managed" -}}
- --tls-mode=self-managed
- --installed-as={{ .Release.Namespace }}/{{ include "gpushare-webhook.fullname" . }}
{{- else -}}
{{- $keys := ternary (dict "certKey" "tls.crt" "keyKey" "tls.key") .Values.tls.existingSecret (eq .Values.tls.mode "cert-manager") -}}
- --tls-mode=files
- --tls-cert=/etc/gpushare-webhook/tls/{{ $keys.certKey }}
- --tls-key=/etc/gpushare-webhook/tls/{{ $keys.keyKey }}
{{- end -}}
{{- end -}}

{{/* The host in `webhooks.url`, without its port and without the brackets of an IPv6 address. */}}
{{- define "gpushare-webhook.calledHost" -}}
{{- (urlParse (.Values.webhooks.url | default "https://")).host | regexFind "^(\\[.*]|[^:]*)" | trimAll "[]" -}}
{{- end -}}

{{/* The chart renders an authority only where a user gives one: in the other modes another program writes it. */}}
{{- define "gpushare-webhook.caBundle" -}}
{{- if eq .Values.tls.mode "existing-secret" -}}
{{- with .Values.tls.existingSecret.caBundle }}{{ b64enc . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Stops combinations that would install and then not work. */}}
{{- define "gpushare-webhook.validate" -}}
{{- $port := include "gpushare-webhook.port" . | int -}}
{{- $health := include "gpushare-webhook.healthPort" . | int -}}
{{- if or (eq $port 0) (eq $health 0) -}}
{{- fail "config.server.port and config.server.healthPort must be fixed here: the Service and the probes name them" -}}
{{- end -}}
{{- if eq $port $health -}}
{{- fail (printf "config.server.port and config.server.healthPort are both %d: choose another for one" $port) -}}
{{- end -}}
{{- if and .Values.hostNetwork (has 10250 (list $port $health)) -}}
{{- fail "hostNetwork: port 10250 of a node is the kubelet's; set config.server.port to another one" -}}
{{- end -}}
{{- $given := .Values.tls.existingSecret -}}
{{- if eq .Values.tls.mode "existing-secret" -}}
{{- if not $given.name -}}
{{- fail "tls.mode is existing-secret: name the Secret in tls.existingSecret.name" -}}
{{- end -}}
{{- if not (or $given.caBundle $given.annotations) -}}
{{- fail "tls.mode is existing-secret: give the authority in tls.existingSecret.caBundle, or in tls.existingSecret.annotations the annotation by which another program writes it" -}}
{{- end -}}
{{- end -}}
{{- $clientCA := dig "tls" "clientCA" "" (.Values.config | default dict) -}}
{{- $mounted := "/etc/gpushare-webhook/client-ca/ca.crt" -}}
{{- if and .Values.tls.clientCA.secretName (ne $clientCA $mounted) -}}
{{- fail (printf "tls.clientCA.secretName is set: set config.tls.clientCA to %s, or the server asks for no certificates" $mounted) -}}
{{- else if and (eq $clientCA $mounted) (not .Values.tls.clientCA.secretName) -}}
{{- fail (printf "config.tls.clientCA is %s: name its Secret in tls.clientCA.secretName" $mounted) -}}
{{- end -}}
{{- $held := prepend (dig "tls" "extraHosts" list (.Values.config | default dict)) (include "gpushare-webhook.host" .) -}}
{{- $called := include "gpushare-webhook.calledHost" . -}}
{{- if and $called (eq .Values.tls.mode "self-managed") (not (has $called $held)) -}}
{{- fail (printf "webhooks.url: name %s in config.tls.extraHosts, so that the self-managed certificate holds it" $called) -}}
{{- end -}}
{{- end -}}
