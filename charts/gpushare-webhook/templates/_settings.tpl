{{/* `config`, over what `mixedCluster` and the validating hook set. In YAML: JSON would round large numbers. */}}
{{- define "gpushare-webhook.config" -}}
{{- $usual := dict "denyInMutate" false -}}
{{- if .Values.mixedCluster -}}
{{- $facts := dict "nodes" true "namespaces" true "runtimeClasses" true "deviceClasses" true -}}
{{- $usual = dict "denyInMutate" false "facts" $facts "limits" (dict "fromDevicePlugin" true) -}}
{{- end -}}
{{- mergeOverwrite $usual (deepCopy (.Values.config | default dict)) | toYaml -}}
{{- end -}}

{{/*
The effective settings in JSON, as the program has them: the settings file over its profile over the defaults of
_defaults.tpl. The values hold them from the first use on, because most templates need them and they take long to make;
the schema allows no such key.
*/}}
{{- define "gpushare-webhook.settings" -}}
{{- if not (hasKey .Values "effectiveSettings") -}}
{{- $config := include "gpushare-webhook.config" . | fromYaml -}}
{{- $defaults := include "gpushare-webhook.defaults" . | fromJson -}}
{{- $profile := get (include "gpushare-webhook.profiles" . | fromJson) ($config.profile | default $defaults.profile) -}}
{{- $usual := include "gpushare-webhook.overlaid" (dict "under" $defaults "over" $profile) | fromJson -}}
{{- $_ := set .Values "effectiveSettings" (include "gpushare-webhook.overlaid" (dict "under" $usual "over" $config)) -}}
{{- end -}}
{{- .Values.effectiveSettings -}}
{{- end -}}

{{/*
The mapping `over` laid over the mapping `under` at every depth, in JSON. `key[]` of `under` holds the defaults of each
element of the list `key`, `key{}` those of the section `key` that is null by default. As in the program, lists are
replaced, and a text stands for a section with a shorthand. Mappings of labels, which replace those of the profile, are merged
here: no template reads them.
*/}}
{{- define "gpushare-webhook.overlaid" -}}
{{- $result := deepCopy .under -}}
{{- $shorthands := include "gpushare-webhook.shorthands" . | fromJson -}}
{{- range $key, $value := .over -}}
{{- $usual := get $.under $key | default (get $.under (printf "%s{}" $key)) -}}
{{- $element := get $.under (printf "%s[]" $key) -}}
{{- if and (kindIs "string" $value) (hasKey $shorthands $key) }}{{ $value = dict (get $shorthands $key) (list $value) }}{{ end -}}
{{- if and (kindIs "map" $value) (kindIs "map" $usual) -}}
{{- $value = include "gpushare-webhook.overlaid" (dict "under" $usual "over" $value) | fromJson -}}
{{- else if and (kindIs "slice" $value) $element -}}
{{- $elements := list -}}
{{- range $value }}{{ $elements = append $elements (include "gpushare-webhook.overlaid" (dict "under" $element "over" .) | fromJson) }}{{ end -}}
{{- $value = $elements -}}
{{- end -}}
{{- $_ := set $result $key $value -}}
{{- end -}}
{{- toJson $result -}}
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

{{/* The longest time that the server takes to stop: until the endpoints are gone, and all requests answered. */}}
{{- define "gpushare-webhook.stopSeconds" -}}
{{- $server := (include "gpushare-webhook.settings" . | fromJson).server -}}
{{- add (include "gpushare-webhook.seconds" $server.shutdownDelay) (include "gpushare-webhook.seconds" $server.drainTimeout) -}}
{{- end -}}

{{/* The names of the GPU resources, a list in JSON. MIG resources are recognized by their prefix. */}}
{{- define "gpushare-webhook.resourceNames" -}}
{{- $names := list -}}
{{- range (include "gpushare-webhook.settings" . | fromJson).resources }}{{ $names = append $names .name }}{{ end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The names of the shared resources, in JSON. */}}
{{- define "gpushare-webhook.sharedNames" -}}
{{- $names := list -}}
{{- range (include "gpushare-webhook.settings" . | fromJson).resources }}{{ if eq "shared" .kind }}{{ $names = append $names .name }}{{ end }}{{ end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The level of Pod Security in a namespace without a label. OpenShift's own rules forbid hostPath volumes there. */}}
{{- define "gpushare-webhook.unlabelled" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $usual := eq $settings.profile "openshift" | ternary "restricted" $settings.podSecurity.unlabelled -}}
{{- dig "podSecurity" "unlabelled" $usual (include "gpushare-webhook.config" . | fromYaml) -}}
{{- end -}}
