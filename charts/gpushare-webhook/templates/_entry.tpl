{{/*
One entry of a configuration. Names of entries never change: the owner of a list's entry is known by its name.

Takes the root, `name`, `path`, `hook` (the values of the kind of hook), `policy` (where it is not the hook's), `operations`,
`rules`, `conditions` (names of conditions, and what these take), `levels` (an expression on Pod Security's label) and
`namespaces` (the only ones of an entry whose conditions name its objects; no selector of the values applies).
*/}}
{{- define "gpushare-webhook.entry" -}}
{{- $entry := . -}}
{{- $webhooks := .root.Values.webhooks -}}
{{- if .namespaces }}{{ $webhooks = pick $webhooks "url" }}{{ end -}}
- name: {{ .name }}.gpushare-webhook.io
  admissionReviewVersions: [v1]
  sideEffects: None
  matchPolicy: Equivalent
  failurePolicy: {{ .policy | default .hook.failurePolicy }}
  timeoutSeconds: {{ .hook.timeoutSeconds }}
  {{- with .hook.reinvocationPolicy }}
  reinvocationPolicy: {{ . }}
  {{- end }}
  clientConfig:
    {{- with include "gpushare-webhook.caBundle" .root }}
    caBundle: {{ . }}
    {{- end }}
    {{- if $webhooks.url }}
    url: {{ printf "%s%s" $webhooks.url .path | quote }}
    {{- else }}
    service:
      name: {{ include "gpushare-webhook.fullname" .root }}
      namespace: {{ include "gpushare-webhook.namespace" .root | quote }}
      path: {{ .path }}
      port: {{ .root.Values.service.port }}
    {{- end }}
  rules:
    {{- range .rules }}
    - apiGroups: [{{ .group | quote }}]
      apiVersions: {{ .versions | default (list "v1") | toJson }}
      operations: {{ toJson $entry.operations }}
      resources: {{ toJson .resources }}
      scope: {{ .scope | default "Namespaced" }}
    {{- end }}
  namespaceSelector:
    {{- if .namespaces }}
    matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson .namespaces }}}
    {{- else }}
    {{- include "gpushare-webhook.namespaceSelector" (dict "root" .root "selector" .hook.namespaceSelector) | nindent 4 }}
    {{- end }}
      {{- with .levels }}
      - {key: pod-security.kubernetes.io/enforce, operator: {{ .operator }}, values: {{ toJson .values }}}
      {{- end }}
  {{- with $webhooks.objectSelector }}
  objectSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  matchConditions:
    {{- range .conditions }}
    {{- $expression := include (printf "gpushare-webhook.condition.%s" .) $entry }}
    - name: {{ . }}
      expression: {{ contains "\n" $expression | ternary (nindent 8 $expression | printf "|-%s") (quote $expression) }}
    {{- end }}
    {{- with $webhooks.matchConditions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The namespaces that no entry sees, in JSON: what runs the cluster and the webhook must never wait for the webhook. */}}
{{- define "gpushare-webhook.excluded" -}}
{{- $exempt := (include "gpushare-webhook.settings" . | fromJson).exempt.namespaces -}}
{{- $always := list (include "gpushare-webhook.namespace" .) "kube-system" "kube-node-lease" -}}
{{- concat $always $exempt (.Values.webhooks.excludedNamespaces | default list) | uniq | toJson -}}
{{- end -}}

{{/* The selector of namespaces of a hook. Takes the root and the `selector` of the hook, which replaces the common one. */}}
{{- define "gpushare-webhook.namespaceSelector" -}}
{{- $selector := .selector | default .root.Values.webhooks.namespaceSelector | default dict -}}
{{- with $selector.matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: {{ include "gpushare-webhook.excluded" .root }}
  {{- if .root.Values.webhooks.ignoreLabel }}
  - {key: gpushare-webhook/ignore, operator: NotIn, values: ["true"]}
  {{- end }}
  {{- with (include "gpushare-webhook.settings" .root | fromJson).exempt.label }}
  - key: {{ regexFind "^[^=]+" . }}
    operator: NotIn
    values: [{{ regexFind "=.+" . | trimPrefix "=" | default "true" | quote }}]
  {{- end }}
  {{- with $selector.matchExpressions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "gpushare-webhook.hookMetadata" -}}
{{- $writer := dict -}}
{{- if eq .Values.tls.mode "cert-manager" -}}
{{- $writer = dict "cert-manager.io/inject-ca-from" (printf "%s/%s" (include "gpushare-webhook.namespace" .) (include "gpushare-webhook.fullname" .)) -}}
{{- else if eq .Values.tls.mode "existing-secret" -}}
{{- $writer = .Values.tls.existingSecret.annotations | default dict -}}
{{- end -}}
{{- include "gpushare-webhook.metadata" (dict "root" . "clusterWide" true "labels" .Values.webhooks.labels "annotations" (mergeOverwrite dict (.Values.webhooks.annotations | default dict) $writer)) -}}
{{- end -}}

{{/* The built-in kinds by where they keep their pod template. */}}
{{- define "gpushare-webhook.templates" -}}
templates:
  pod: object.spec.template
  rules:
    - {group: apps, resources: [deployments, statefulsets, daemonsets, replicasets]}
    - {group: batch, resources: [jobs]}
    - {group: "", resources: [replicationcontrollers]}
job-templates:
  pod: object.spec.jobTemplate.spec.template
  rules:
    - {group: batch, resources: [cronjobs]}
pod-templates:
  pod: object.template
  rules:
    - {group: "", resources: [podtemplates]}
{{- end -}}
