{{- define "gpushare-webhook.container" -}}
{{- $server := (include "gpushare-webhook.settings" . | fromJson).server -}}
image: {{ include "gpushare-webhook.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
terminationMessagePolicy: FallbackToLogsOnError
args:
  - serve
  - --config=/etc/gpushare-webhook/settings/settings.yaml
  {{- if eq .Values.tls.mode "self-managed" }}
  - --tls-mode=self-managed
  {{- else }}
  {{- $keys := ternary (dict "certKey" "tls.crt" "keyKey" "tls.key") .Values.tls.existingSecret (eq .Values.tls.mode "cert-manager") }}
  - --tls-mode=files
  - --tls-cert=/etc/gpushare-webhook/tls/{{ $keys.certKey }}
  - --tls-key=/etc/gpushare-webhook/tls/{{ $keys.keyKey }}
  {{- end }}
  {{- if include "gpushare-webhook.callsApiServer" . }}
  - --installed-as={{ include "gpushare-webhook.namespace" . }}/{{ include "gpushare-webhook.fullname" . }}
  {{- end }}
  {{- with .Values.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: https
    containerPort: {{ $server.port }}
    protocol: TCP
  - name: health
    containerPort: {{ $server.healthPort }}
    protocol: TCP
{{- range $probe := list "startupProbe" "livenessProbe" "readinessProbe" "lifecycle" "securityContext" }}
{{- with index $.Values $probe }}
{{ $probe }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with include "gpushare-webhook.resources" . }}
resources:
  {{- nindent 2 . }}
{{- end }}
volumeMounts:
  - name: settings
    mountPath: /etc/gpushare-webhook/settings
    readOnly: true
  {{- if include "gpushare-webhook.tlsSecret" . }}
  - name: tls
    mountPath: /etc/gpushare-webhook/tls
    readOnly: true
  {{- end }}
  {{- if .Values.tls.clientCA.secretName }}
  - name: client-ca
    mountPath: /etc/gpushare-webhook/client-ca
    readOnly: true
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* `resources` of the container; an empty memory limit is the one that docs/explanation/limits.md calculates. */}}
{{- define "gpushare-webhook.resources" -}}
{{- $resources := deepCopy (.Values.resources | default dict) -}}
{{- $limits := get $resources "limits" | default dict -}}
{{- if and (hasKey $limits "memory") (not $limits.memory) -}}
{{- $readsNodes := (include "gpushare-webhook.settings" . | fromJson).facts.nodes -}}
{{- $_ := set $limits "memory" (ternary "896Mi" "768Mi" $readsNodes) -}}
{{- end -}}
{{- with $resources }}{{ toYaml . }}{{ end -}}
{{- end -}}
