{{/*
The match conditions in CEL. Null stands where an object was sent with an explicit null, so lists and mappings are
looked at only when they are none.
*/}}

{{/* Whether a container `c` of a pod spec passes a test. Takes `spec` and `test`. */}}
{{- define "gpushare-webhook.cel.anyContainer" -}}
[{{ .spec }}.?containers.orValue([]), {{ .spec }}.?initContainers.orValue([])].exists(list, list != null && list.exists(c, {{ .test }}))
{{- end -}}

{{/* Whether a container names a resource whose `name` passes a test. Takes `container` and `test`. */}}
{{- define "gpushare-webhook.cel.anyResource" -}}
[{{ .container }}.?resources.?limits.orValue({}), {{ .container }}.?resources.?requests.orValue({})].exists(amounts, amounts != null && amounts.exists(name, {{ .test }}))
{{- end -}}

{{- define "gpushare-webhook.cel.isGpu" -}}
name in ['{{ include "gpushare-webhook.resourceNames" . | fromJsonArray | join "', '" }}'] || name.startsWith('nvidia.com/mig-')
{{- end -}}

{{/* Whether a pod spec names a GPU resource. Takes the root and `spec`. */}}
{{- define "gpushare-webhook.cel.namesGpu" -}}
{{- $test := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isGpu" .root)) -}}
{{- include "gpushare-webhook.cel.anyContainer" (dict "spec" .spec "test" $test) -}}
{{- end -}}

{{/* Whether a name is perhaps a slip (GPS013): in a domain of ours, or like one of our names but for its domain. */}}
{{- define "gpushare-webhook.cel.isSlip" -}}
{{- $tests := list "name.startsWith('nvidia.com/')" -}}
{{- range include "gpushare-webhook.resourceNames" . | fromJsonArray -}}
{{- $tests = append $tests (printf "name.startsWith('%s')" (regexFind "^[^/]+/" .)) -}}
{{- $sizes := printf "[%d, %d, %d]" (sub (len .) 1) (len .) (add1 (len .)) -}}
{{- $tests = append $tests (printf "name.endsWith('%s') && name.size() in %s" (regexFind "/.+$" .) $sizes) -}}
{{- end -}}
{{- $tests | uniq | join " || " -}}
{{- end -}}

{{/*
Whether a pod that names no GPU resource concerns the webhook all the same: it sees GPUs by its environment (GPS007),
asks for what is perhaps a slip (GPS013), or has annotations of ours (GPS018). Takes the root and `template`.
*/}}
{{- define "gpushare-webhook.cel.concernsGpu" -}}
{{- $named := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isSlip" .root)) -}}
{{- $sees := "c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && !(e.?value.orValue('') in ['void', 'none']))" -}}
{{- include "gpushare-webhook.cel.anyContainer" (dict "spec" (printf "%s.?spec" .template) "test" (printf "%s || %s" $sees $named)) }} || {{ .template }}.?metadata.?annotations.orValue({}).exists(key, key.startsWith('gpushare-webhook/'))
{{- end -}}

{{/* The kubelet already runs what a mirror pod shows. Anybody can set the annotation, only nodes are believed. */}}
{{- define "gpushare-webhook.cel.noMirror" -}}
!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}) && 'system:nodes' in request.userInfo.?groups.orValue([]))
{{- end -}}

{{/* The tolerations that a pod may have from us, as a list in CEL; empty when none are injected. */}}
{{- define "gpushare-webhook.cel.ourTolerations" -}}
{{- $config := .Values.config | default dict -}}
{{- $ours := list -}}
{{- range dig "injections" "tolerations" "add" (list (dict "key" "nvidia.com/gpu")) $config -}}
{{- $one := printf "{'key': '%s', 'operator': '%s'" .key (.operator | default "Exists") -}}
{{- if and (eq "Equal" (.operator | default "")) .value }}{{ $one = printf "%s, 'value': '%s'" $one .value }}{{ end -}}
{{- $effect := hasKey . "effect" | ternary .effect "NoSchedule" -}}
{{- with $effect }}{{ $one = printf "%s, 'effect': '%s'" $one . }}{{ end -}}
{{- $ours = append $ours (printf "%s}" $one) -}}
{{- end -}}
{{- if dig "injections" "tolerations" "resourceName" true $config -}}
{{- range dig "resources" (list (dict "name" "nvidia.com/gpu.shared" "renamed" true)) $config -}}
{{- if .renamed }}{{ $ours = append $ours (printf "{'key': '%s', 'operator': 'Exists', 'effect': 'NoSchedule'}" .name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $ours | uniq | join ", " -}}
{{- end -}}

{{/* Whether an update of a pod drops tolerations that it may have from us. Empty when it can have none. */}}
{{- define "gpushare-webhook.cel.lostTolerations" -}}
{{- $had := "oldObject.spec.?tolerations.orValue([])" -}}
{{- $has := "object.spec.?tolerations.orValue([])" -}}
{{- $lost := list -}}
{{- with include "gpushare-webhook.cel.ourTolerations" . -}}
{{- $lost = append $lost (printf "[%s].exists(ours, ours in %s && !(ours in %s))" . $had $has) -}}
{{- end -}}
{{- range dig "injections" "tolerations" "fromNodes" list (.Values.config | default dict) -}}
{{- $pattern := . | replace "." "[.]" | replace "*" ".*" -}}
{{- $lost = append $lost (printf "%s.exists(t, t.?key.orValue('').matches('^%s$') && !(t in %s))" $had $pattern $has) -}}
{{- end -}}
{{- $lost | join " || " -}}
{{- end -}}
