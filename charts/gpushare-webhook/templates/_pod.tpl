{{- define "gpushare-webhook.pod" -}}
serviceAccountName: {{ include "gpushare-webhook.serviceAccountName" . }}
# No token unless the pods call the API server.
automountServiceAccountToken: {{ eq "true" (include "gpushare-webhook.callsApiServer" .) }}
enableServiceLinks: false
{{- include "gpushare-webhook.podFields" . }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds | default (add (include "gpushare-webhook.stopSeconds" .) 5) }}
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
affinity:
  {{- with .Values.affinity }}
  {{- toYaml . | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "gpushare-webhook.selectorLabels" . | nindent 14 }}
  {{- end }}
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

{{/* The fields that the pod of `helm test` has too. */}}
{{- define "gpushare-webhook.podFields" -}}
{{- range $field, $value := merge (dict "securityContext" .Values.podSecurityContext) (pick .Values "imagePullSecrets" "nodeSelector" "tolerations") }}
{{- with $value }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
