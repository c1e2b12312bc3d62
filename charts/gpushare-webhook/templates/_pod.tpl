{{/* The spec of the webhook's pods. */}}
{{- define "gpushare-webhook.pod" -}}
serviceAccountName: {{ include "gpushare-webhook.serviceAccountName" . }}
# No token unless the pods call the API server.
automountServiceAccountToken: {{ eq "true" (include "gpushare-webhook.callsApiServer" .) }}
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ include "gpushare-webhook.gracePeriod" . }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and (kindIs "bool" .Values.hostUsers) (semverCompare ">=1.33-0" .Capabilities.KubeVersion.Version) }}
hostUsers: {{ .Values.hostUsers }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.dnsPolicy | default (and .Values.hostNetwork "ClusterFirstWithHostNet") }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- include "gpushare-webhook.affinity" . | nindent 2 }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ merge (dict "labelSelector" (dict "matchLabels" (include "gpushare-webhook.selectorLabels" $ | fromYaml))) . | toYaml | nindent 4 | trim }}
  {{- end }}
{{- end }}
containers:
  - name: webhook
    {{- include "gpushare-webhook.container" . | nindent 4 }}
volumes:
  - name: settings
    configMap:
      name: {{ include "gpushare-webhook.fullname" . }}
  {{- with include "gpushare-webhook.tlsSecret" . }}
  - name: tls
    secret:
      secretName: {{ . }}
  {{- end }}
  {{- with .Values.tls.clientCA.secretName }}
  - name: client-ca
    secret:
      secretName: {{ . }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "gpushare-webhook.affinity" -}}
{{- with .Values.affinity -}}
{{- toYaml . -}}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "gpushare-webhook.selectorLabels" . | nindent 12 }}
{{- end -}}
{{- end -}}
