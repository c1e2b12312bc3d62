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
Whether there is more to look at in a list of containers than the API server's budget for CEL allows. It passes over an
entry with the policy `Ignore` whose condition takes more, so that a pod could hide one variable behind 150,000 others.
The server looks at all of them. Takes `list` and `sizes`, what there is to look at in a container `c`.
*/}}
{{- define "gpushare-webhook.cel.tooMany" -}}
{{ .list }}.size() > 500 || {{ .list }}.map(c, {{ .sizes }}).sum() > 5000
{{- end -}}

{{/* Whether a container `c` sees GPUs by its environment (GPS007). */}}
{{- define "gpushare-webhook.cel.sees" -}}
c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && !(e.?value.orValue('') in ['void', 'none']))
{{- end -}}

{{/*
Whether an ephemeral container of a pod sees GPUs, or is privileged in a pod that names a GPU resource (GPS007). Those
that were there before count too: CEL would compare each with all, past the budget, while the server uses a set.
*/}}
{{- define "gpushare-webhook.cel.ephemeralSees" -}}
{{- $list := "object.spec.?ephemeralContainers.orValue([])" -}}
{{- $names := include "gpushare-webhook.cel.namesGpu" (dict "root" . "spec" "object.spec") -}}
{{ include "gpushare-webhook.cel.tooMany" (dict "list" $list "sizes" "c.?env.orValue([]).size()") }} || {{ $list }}.exists(c, {{ include "gpushare-webhook.cel.sees" . }}) || ({{ $list }}.exists(c, c.?securityContext.?privileged.orValue(false)) && {{ $names }})
{{- end -}}

{{/* Whether a pod is new, or an update removes its last scheduling gate: from then on the scheduler may place it. */}}
{{- define "gpushare-webhook.cel.newOrReleased" -}}
oldObject == null || (oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0)
{{- end -}}

{{/*
Whether a pod that names no GPU resource concerns the webhook all the same: it sees GPUs by its environment (GPS007),
asks for what is perhaps a slip (GPS013), or has annotations of ours (GPS018). Takes the root and `template`.
*/}}
{{- define "gpushare-webhook.cel.concernsGpu" -}}
{{- $named := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isSlip" .root)) -}}
{{- $sees := include "gpushare-webhook.cel.sees" . -}}
{{- $sizes := "c.?env.orValue([]).size() + c.?resources.?limits.orValue({}).size() + c.?resources.?requests.orValue({}).size()" -}}
{{- $many := include "gpushare-webhook.cel.tooMany" (dict "list" "list" "sizes" $sizes) -}}
{{- $spec := printf "%s.?spec" .template -}}
[{{ $spec }}.?containers.orValue([]), {{ $spec }}.?initContainers.orValue([])].exists(list, list != null && ({{ $many }} || list.exists(c, {{ $sees }} || {{ $named }}))) || {{ .template }}.?metadata.?annotations.orValue({}).exists(key, key.startsWith('gpushare-webhook/'))
{{- end -}}

{{/* The kubelet already runs what a mirror pod shows. Anybody can set the annotation, only nodes are believed. */}}
{{- define "gpushare-webhook.cel.noMirror" -}}
!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}) && 'system:nodes' in request.userInfo.?groups.orValue([]))
{{- end -}}

{{/* The tolerations that a pod may have from us, as a list in CEL; empty when none are injected. */}}
{{- define "gpushare-webhook.cel.ourTolerations" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $ours := list -}}
{{- range $settings.injections.tolerations.add -}}
{{- $one := printf "{'key': '%s', 'operator': '%s'" .key .operator -}}
{{- if and (eq "Equal" .operator) .value }}{{ $one = printf "%s, 'value': '%s'" $one .value }}{{ end -}}
{{- with .effect }}{{ $one = printf "%s, 'effect': '%s'" $one . }}{{ end -}}
{{- $ours = append $ours (printf "%s}" $one) -}}
{{- end -}}
{{- if $settings.injections.tolerations.resourceName -}}
{{- range $settings.resources -}}
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
{{- range (include "gpushare-webhook.settings" . | fromJson).injections.tolerations.fromNodes -}}
{{- $pattern := . | replace "." "[.]" | replace "*" ".*" -}}
{{- $lost = append $lost (printf "%s.exists(t, t.?key.orValue('').matches('^%s$') && !(t in %s))" $had $pattern $has) -}}
{{- end -}}
{{- $lost | join " || " -}}
{{- end -}}
