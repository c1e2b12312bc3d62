{{/*
The data of policies: the CEL variables that depend on settings, as webhook/inprocess/data.py makes them. All other
expressions are fixed text, in files/policies.json.
*/}}

{{/* The expressions by the names of the variables, in JSON. */}}
{{- define "gpushare-webhook.policyData" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $kinds := dict "shared" list "whole" list "mig" list -}}
{{- $renamed := list -}}
{{- $pipes := dict -}}
{{- range $settings.resources -}}
{{- $_ := set $kinds .kind (append (get $kinds .kind) .name) -}}
{{- if .renamed }}{{ $renamed = append $renamed .name }}{{ end -}}
{{- if eq .kind "shared" -}}
{{- $_ := set $pipes .name (include "gpushare-webhook.pipe" (dict "injections" $settings.injections "resource" .name) | fromJson) -}}
{{- end -}}
{{- end -}}
{{- $data := dict -}}
{{- range $kind, $names := $kinds }}{{ $_ := set $data $kind (sortAlpha $names) }}{{ end -}}
{{- $_ := set $data "renamed" (sortAlpha $renamed) -}}
{{- $_ := set $data "pipes" $pipes -}}
{{- $limits := dict "container" $settings.limits.perContainer "pod" $settings.limits.perPod "timeSlicing" $settings.limits.timeSlicing.perContainer -}}
{{- range $limit, $most := $limits }}{{ if kindIs "invalid" $most }}{{ $_ := set $limits $limit -1 }}{{ end }}{{ end -}}
{{- $_ := set $data "limits" $limits -}}
{{- $_ := set $data "mpsLabels" $settings.placement.mpsLabels -}}
{{- $_ := set $data "timeSlicingLabels" $settings.placement.timeSlicingLabels -}}
{{- $exempt := dict -}}
{{- with $settings.exempt.annotation -}}
{{- $exempt = dict "key" (regexFind "^[^=]*" .) "value" (regexFind "=.*$" . | trimPrefix "=" | default "true") -}}
{{- end -}}
{{- $_ := set $data "exemptAnnotation" $exempt -}}
{{- $_ := set $data "options" (include "gpushare-webhook.policyOptions" $settings | fromJson) -}}
{{- $_ := set $data "tolerations" (include "gpushare-webhook.policyTolerations" $settings.injections.tolerations | fromJsonArray) -}}
{{- $expressions := dict -}}
{{- range $name, $value := $data }}{{ $_ := set $expressions $name (printf "dyn(%s)" (toJson $value)) }}{{ end -}}
{{- toJson $expressions -}}
{{- end -}}

{{/* The pipe directory of a resource in JSON: in the container, on the node, and the name of its volume. */}}
{{- define "gpushare-webhook.pipe" -}}
{{- $below := .injections.pipeDirectory.perResource | ternary (printf "/%s/pipe" .resource) "" -}}
{{- dict "path" (printf "%s%s" (regexReplaceAll "/+$" .injections.pipeDirectory.containerRoot "") $below) "host" (printf "%s%s" (regexReplaceAll "/+$" .injections.pipeMount.mpsRoot "") $below) "volume" (include "gpushare-webhook.volume" .resource) | toJson -}}
{{- end -}}

{{/* The name of the volume of a resource: a DNS label, shortened with a hash. */}}
{{- define "gpushare-webhook.volume" -}}
{{- $label := printf "gpushare-mps-%s" (regexReplaceAll "[^a-z0-9]" (lower .) "-") | trimAll "-" -}}
{{- if gt (len $label) 63 -}}
{{- $label = printf "%s-%s" (regexReplaceAll "-+$" (trunc 54 $label) "") (sha256sum . | trunc 8) -}}
{{- end -}}
{{- $label -}}
{{- end -}}

{{/* The settings that are a text or a switch, in JSON, as webhook/inprocess/injecting/options.py. Takes the settings. */}}
{{- define "gpushare-webhook.policyOptions" -}}
{{- $injections := .injections -}}
{{- $class := $injections.runtimeClass -}}
{{- $mount := $injections.pipeMount -}}
{{- $options := dict "annotate" $injections.annotate "hostIPC" .users.hostIPC "hostPathType" $mount.type "unlabelled" .podSecurity.unlabelled -}}
{{- $_ := set $options "knowsClasses" .facts.runtimeClasses -}}
{{- $_ := set $options "knowsNodes" (or .facts.nodes .facts.deviceClasses (not (empty .facts.devicePlugin))) -}}
{{- $_ := set $options "limits" $injections.limits.enabled -}}
{{- $_ := set $options "pipeDirectory" $injections.pipeDirectory.enabled -}}
{{- $_ := set $options "pipeMount" $mount.enabled -}}
{{- $_ := set $options "readOnly" $mount.readOnly -}}
{{- $_ := set $options "safeToEvict" $mount.safeToEvict -}}
{{- $_ := set $options "tolerateRenamed" (and $injections.tolerations.enabled $injections.tolerations.resourceName) -}}
{{- $_ := set $options "runtimeClass" (and $class.enabled (or .facts.runtimeClasses (eq $class.whenUnknown "inject")) | ternary $class.name "") -}}
{{- range $option, $value := $options }}{{ $_ := set $options $option (toString $value) }}{{ end -}}
{{- toJson $options -}}
{{- end -}}

{{/* The tolerations of the settings in JSON, in the form of a pod's spec. Takes `injections.tolerations`. */}}
{{- define "gpushare-webhook.policyTolerations" -}}
{{- $tolerations := list -}}
{{- range .enabled | ternary .add list -}}
{{- $toleration := pick . "key" "operator" -}}
{{- if and (eq "Equal" .operator) .value }}{{ $_ := set $toleration "value" .value }}{{ end -}}
{{- with .effect }}{{ $_ := set $toleration "effect" . }}{{ end -}}
{{- $tolerations = append $tolerations $toleration -}}
{{- end -}}
{{- toJson $tolerations -}}
{{- end -}}
