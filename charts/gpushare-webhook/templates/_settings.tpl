{{/* The settings file: `config`, over what `mixedCluster` and `policies` set. In YAML: JSON would round large numbers. */}}
{{- define "gpushare-webhook.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- if .Values.mixedCluster -}}
{{- range $section, $usual := include "gpushare-webhook.mixedClusterConfig" . | fromYaml -}}
{{- $given := get $config $section | default dict -}}
{{- range $key, $value := $usual }}{{ if not (hasKey $given $key) }}{{ $_ := set $given $key $value }}{{ end }}{{ end -}}
{{- $_ := set $config $section $given -}}
{{- end -}}
{{- end -}}
{{- if include "gpushare-webhook.checksByPolicy" . }}{{ $_ := set $config "policies" (dict "enabled" true) }}{{ end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* What `mixedCluster` sets in the settings file. */}}
{{- define "gpushare-webhook.mixedClusterConfig" -}}
facts:
  nodes: true
  namespaces: true
  runtimeClasses: true
  deviceClasses: true
limits:
  fromDevicePlugin: true
{{- end -}}

{{/*
The effective settings in JSON, as the program has them: the settings file over its profile over the defaults of
_defaults.tpl. The values hold them from the first use on, because most templates need them and they take long to make;
the schema allows no such key from users.
*/}}
{{- define "gpushare-webhook.settings" -}}
{{- if not (hasKey .Values "effectiveSettings") }}{{ $_ := set .Values "effectiveSettings" (include "gpushare-webhook.computedSettings" .) }}{{ end -}}
{{- .Values.effectiveSettings -}}
{{- end -}}

{{- define "gpushare-webhook.computedSettings" -}}
{{- $config := include "gpushare-webhook.config" . | fromYaml -}}
{{- $defaults := include "gpushare-webhook.defaults" . | fromJson -}}
{{- $profile := get (include "gpushare-webhook.profiles" . | fromJson) ($config.profile | default $defaults.profile) -}}
{{- $usual := include "gpushare-webhook.overlaid" (dict "under" $defaults "over" $profile) | fromJson -}}
{{- include "gpushare-webhook.overlaid" (dict "under" $usual "over" $config) -}}
{{- end -}}

{{/*
The mapping `over` laid over the mapping `under` at every depth, in JSON. `key[]` of `under` holds the defaults of each
element of the list `key`, `key{}` those of the section `key` that is null by default. As in the program, lists are
replaced, and so are the mappings of `replacedWhole`; a text stands for a section with a shorthand.
*/}}
{{- define "gpushare-webhook.overlaid" -}}
{{- $result := deepCopy .under -}}
{{- $whole := include "gpushare-webhook.replacedWhole" . | fromJsonArray -}}
{{- $shorthands := include "gpushare-webhook.shorthands" . | fromJson -}}
{{- range $key, $value := .over -}}
{{- $usual := get $.under $key | default (get $.under (printf "%s{}" $key)) -}}
{{- $element := get $.under (printf "%s[]" $key) -}}
{{- if and (kindIs "string" $value) (hasKey $shorthands $key) }}{{ $value = dict (get $shorthands $key) (list $value) }}{{ end -}}
{{- if and (kindIs "map" $value) (kindIs "map" $usual) (not (has $key $whole)) -}}
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

{{- define "gpushare-webhook.port" -}}
{{- (include "gpushare-webhook.settings" . | fromJson).server.port -}}
{{- end -}}

{{- define "gpushare-webhook.healthPort" -}}
{{- (include "gpushare-webhook.settings" . | fromJson).server.healthPort -}}
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

{{/* The longest time that the server takes to stop: until the endpoints are gone, and until all requests are answered. */}}
{{- define "gpushare-webhook.stopSeconds" -}}
{{- $server := (include "gpushare-webhook.settings" . | fromJson).server -}}
{{- add (include "gpushare-webhook.seconds" $server.shutdownDelay) (include "gpushare-webhook.seconds" $server.drainTimeout) -}}
{{- end -}}

{{/* The longest time that a pod may take to stop: a little more. */}}
{{- define "gpushare-webhook.gracePeriod" -}}
{{- .Values.terminationGracePeriodSeconds | default (add (include "gpushare-webhook.stopSeconds" .) 5) -}}
{{- end -}}

{{/* The names of the GPU resources, a list in JSON. MIG resources are recognized by their prefix. */}}
{{- define "gpushare-webhook.resourceNames" -}}
{{- if not (hasKey .Values "effectiveNames") -}}
{{- $names := list -}}
{{- range (include "gpushare-webhook.settings" . | fromJson).resources }}{{ $names = append $names .name }}{{ end -}}
{{- $_ := set .Values "effectiveNames" (toJson $names) -}}
{{- end -}}
{{- .Values.effectiveNames -}}
{{- end -}}

{{/* The first resource that is shared; empty when none is. */}}
{{- define "gpushare-webhook.firstShared" -}}
{{- $shared := list -}}
{{- range (include "gpushare-webhook.settings" . | fromJson).resources -}}
{{- if eq "shared" .kind }}{{ $shared = append $shared .name }}{{ end -}}
{{- end -}}
{{- with $shared }}{{ first . }}{{ end -}}
{{- end -}}

{{/* A resource to test the webhook with: preferably a shared one, of which two are over the limit. */}}
{{- define "gpushare-webhook.triedResource" -}}
{{- $named := include "gpushare-webhook.resourceNames" . | fromJsonArray | first | default "nvidia.com/gpu" -}}
{{- include "gpushare-webhook.firstShared" . | default $named -}}
{{- end -}}

{{/* Whether pods in namespaces without a Pod Security label may mount hostPath volumes. OpenShift's own rules forbid it. */}}
{{- define "gpushare-webhook.unlabelledMayMount" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $usual := ternary "restricted" $settings.podSecurity.unlabelled (eq $settings.profile "openshift") -}}
{{- if eq "privileged" (dig "podSecurity" "unlabelled" $usual (include "gpushare-webhook.config" . | fromYaml)) }}true{{ end -}}
{{- end -}}

{{/* The part of the settings file that the program reads only when it starts, in JSON. The resources select the nodes
     that it reads. */}}
{{- define "gpushare-webhook.processSettings" -}}
{{- $config := include "gpushare-webhook.config" . | fromYaml -}}
{{- $read := pick $config "server" "tls" "log" "events" "facts" "policies" -}}
{{- if (get $config "facts" | default dict).nodes }}{{ $read = merge $read (pick $config "resources") }}{{ end -}}
{{- $read | toJson -}}
{{- end -}}
