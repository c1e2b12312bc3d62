{{/*
The match conditions in CEL. An object may contain an explicit null, so lists and mappings are compared with null before
they are used.
*/}}

{{/* Whether a container names a resource whose `name` passes a test. Takes `container` and `test`. */}}
{{- define "gpushare-webhook.cel.anyResource" -}}
[{{ .container }}.?resources.?limits.orValue({}), {{ .container }}.?resources.?requests.orValue({})].exists(amounts, amounts != null && amounts.exists(name, {{ .test }}))
{{- end -}}

{{- define "gpushare-webhook.cel.isGpu" -}}
name in ['{{ include "gpushare-webhook.resourceNames" . | fromJsonArray | join "', '" }}'] || name.startsWith('nvidia.com/mig-')
{{- end -}}

{{/*
Whether a pod spec names a GPU resource, or more resources than CEL should read. The API server's time to read keys of a
mapping grows faster than their number, within its own budget: tens of thousands take longer than a request may take. The
webhook reads them in milliseconds. Takes the root and `spec`.
*/}}
{{- define "gpushare-webhook.cel.namesGpu" -}}
{{- $named := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isGpu" .root)) -}}
{{- $sizes := "[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})].map(amounts, amounts == null ? 0 : amounts.size()).sum()" -}}
[{{ .spec }}.?containers.orValue([]), {{ .spec }}.?initContainers.orValue([])].exists(list, list != null && (list.map(c, {{ $sizes }}).sum() > 2000 || list.exists(c, {{ $named }})))
{{- end -}}

{{/* Whether a name may be a typo (GPS013): in the domain of a configured name, or like a configured name except for its domain. */}}
{{- define "gpushare-webhook.cel.isTypo" -}}
{{- $tests := list "name.startsWith('nvidia.com/')" -}}
{{- range include "gpushare-webhook.resourceNames" . | fromJsonArray -}}
{{- $tests = append $tests (printf "name.startsWith('%s')" (regexFind "^[^/]+/" .)) -}}
{{- $sizes := printf "[%d, %d, %d]" (sub (len .) 1) (len .) (add1 (len .)) -}}
{{- $tests = append $tests (printf "name.endsWith('%s') && name.size() in %s" (regexFind "/.+$" .) $sizes) -}}
{{- end -}}
{{- $tests | uniq | join " || " -}}
{{- end -}}

{{/*
Whether a list of containers has more elements than the API server's budget for CEL allows. The API server skips an entry
with the policy `Ignore` whose condition costs more, so a pod could hide one variable behind 150,000 others. The webhook
reads all of them. Takes `list` and `sizes`, the number of elements in a container `c`.
*/}}
{{- define "gpushare-webhook.cel.tooMany" -}}
{{ .list }}.size() > 500 || {{ .list }}.map(c, {{ .sizes }}).sum() > 5000
{{- end -}}

{{/* Whether the environment of a container `c` exposes GPUs to it (GPS007). */}}
{{- define "gpushare-webhook.cel.sees" -}}
c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && !(e.?value.orValue('') in ['void', 'none']))
{{- end -}}

{{/*
Whether GPUs are exposed to an ephemeral container of a pod, or one is privileged in a pod that names a GPU resource (GPS007).
Existing containers count too: CEL would compare each with all others, beyond the budget, while the webhook uses a set.
*/}}
{{- define "gpushare-webhook.cel.ephemeralSees" -}}
{{- $list := "object.spec.?ephemeralContainers.orValue([])" -}}
{{- $names := include "gpushare-webhook.cel.namesGpu" (dict "root" . "spec" "object.spec") -}}
{{ include "gpushare-webhook.cel.tooMany" (dict "list" $list "sizes" "c.?env.orValue([]).size()") }} || {{ $list }}.exists(c, {{ include "gpushare-webhook.cel.sees" . }}) || ({{ $list }}.exists(c, c.?securityContext.?privileged.orValue(false)) && {{ $names }})
{{- end -}}

{{/* Whether a pod is new, or an update removes its last scheduling gate: then the scheduler may place it. */}}
{{- define "gpushare-webhook.cel.newOrReleased" -}}
oldObject == null || (oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0)
{{- end -}}

{{/*
Whether a pod that names no GPU resource still concerns the webhook: its environment exposes GPUs (GPS007), it asks for a
name that may be a typo (GPS013), or it has gpushare-webhook annotations (GPS018), or too many annotations to read in CEL. Takes
the root and `template`.
*/}}
{{- define "gpushare-webhook.cel.concernsGpu" -}}
{{- $named := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isTypo" .root)) -}}
{{- $sees := include "gpushare-webhook.cel.sees" . -}}
{{- $sizes := "c.?env.orValue([]).size() + c.?resources.?limits.orValue({}).size() + c.?resources.?requests.orValue({}).size()" -}}
{{- $many := include "gpushare-webhook.cel.tooMany" (dict "list" "list" "sizes" $sizes) -}}
{{- $spec := printf "%s.?spec" .template -}}
[{{ $spec }}.?containers.orValue([]), {{ $spec }}.?initContainers.orValue([])].exists(list, list != null && ({{ $many }} || list.exists(c, {{ $sees }} || {{ $named }}))) || {{ .template }}.?metadata.?annotations.orValue({}).size() > 500 || {{ .template }}.?metadata.?annotations.orValue({}).exists(key, key.startsWith('gpushare-webhook/'))
{{- end -}}

{{/* The kubelet already runs what a mirror pod shows. Any user can set the annotation, so it counts only from nodes. */}}
{{- define "gpushare-webhook.cel.noMirror" -}}
!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}) && 'system:nodes' in request.userInfo.?groups.orValue([]))
{{- end -}}

{{/* The tolerations that the webhook may have injected, as a list in CEL; empty when none are injected. */}}
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

{{/* Whether an update of a pod drops tolerations that the webhook may have injected. Empty when it injects none. */}}
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

{{/*
Whether an update of a webhook configuration changes nothing but the authorities in `caBundle`. Only entries of mutating
configurations have a `reinvocationPolicy`, so the API server must not check its type.
*/}}
{{- define "gpushare-webhook.cel.sameExceptBundle" -}}
{{- $same := list "object.webhooks.size() == oldObject.webhooks.size()" -}}
{{- range $field := list "labels" "annotations" "ownerReferences" "finalizers" -}}
{{- $same = append $same (printf "object.metadata.?%s == oldObject.metadata.?%s" $field $field) -}}
{{- end -}}
{{- $entry := list "after.name == before.name" "dyn(after).?reinvocationPolicy == dyn(before).?reinvocationPolicy" -}}
{{- range $field := list "clientConfig.?service" "clientConfig.?url" "?rules" "?failurePolicy" "?matchPolicy" "?namespaceSelector" "?objectSelector" "?sideEffects" "?timeoutSeconds" "?admissionReviewVersions" "?matchConditions" -}}
{{- $entry = append $entry (printf "after.%s == before.%s" $field $field) -}}
{{- end -}}
{{- $same = append $same (printf "object.webhooks.all(after, oldObject.webhooks.exists(before, %s))" ($entry | join " && ")) -}}
{{- $same | join " &&\n" -}}
{{- end -}}
