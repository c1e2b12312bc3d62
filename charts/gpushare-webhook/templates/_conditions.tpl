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
Whether a pod spec names a GPU resource, in a container or for the pod as a whole (GPS003), or more resources than CEL should read. The API server's time to read keys of a
mapping grows faster than their number, within its own budget: tens of thousands take longer than a request may take. The
webhook reads them in milliseconds. Takes the root and `spec`.
*/}}
{{- define "gpushare-webhook.cel.namesGpu" -}}
{{- $named := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isGpu" .root)) -}}
{{- $sizes := "[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})].map(amounts, amounts == null ? 0 : amounts.size()).sum()" -}}
[{{ .spec }}.?containers.orValue([]), {{ .spec }}.?initContainers.orValue([])].exists(list, list != null && (list.map(c, {{ $sizes }}).sum() > 2000 || list.exists(c, {{ $named }}))) || [{{ .spec }}.?resources.?limits.orValue({}), {{ .spec }}.?resources.?requests.orValue({})].exists(amounts, amounts != null && (amounts.size() > 2000 || amounts.exists(name, {{ include "gpushare-webhook.cel.isGpu" .root }})))
{{- end -}}

{{/*
Whether a pod asks for a share of a GPU by annotation, as KAI Scheduler's pods do. Empty when no annotation counts. Takes
the root and `template`, the object with the pod's metadata.
*/}}
{{- define "gpushare-webhook.cel.asksByAnnotation" -}}
{{- $settings := include "gpushare-webhook.settings" .root | fromJson -}}
{{- $keys := list -}}
{{- range $settings.requests.annotations }}{{ $keys = append $keys .annotation }}{{ end -}}
{{- $cards := list -}}
{{- range $settings.resources }}{{ if ne "mig" .kind }}{{ $cards = append $cards .name }}{{ end }}{{ end -}}
{{- if and $keys $cards -}}
['{{ $keys | join "', '" }}'].exists(key, key in {{ .template }}.?metadata.?annotations.orValue({}))
{{- end -}}
{{- end -}}

{{/*
Whether a `name` may be a typo (GPS013): in the domain of a configured name, like a configured name except for its domain,
or a name that users write by mistake. Domains are in lower case: the API server rejects others. A typo that swaps the
slash with its neighbour changes the domain and the rest.
*/}}
{{- define "gpushare-webhook.cel.isTypo" -}}
{{- $tests := list "name.startsWith('nvidia.com/')" -}}
{{- $mistakes := include "gpushare-webhook.wrongNames" . | fromJsonArray -}}
{{- range include "gpushare-webhook.resourceNames" . | fromJsonArray -}}
{{- $tests = append $tests (printf "name.startsWith('%s')" (regexFind "^[^/]+/" .)) -}}
{{- $known := lower . -}}
{{- $sizes := printf "[%d, %d, %d]" (sub (len .) 1) (len .) (add1 (len .)) -}}
{{- $tests = append $tests (printf "name.size() in %s && name.lowerAscii().endsWith('%s')" $sizes (regexFind "/.+$" $known)) -}}
{{- $mistakes = concat $mistakes (list (regexReplaceAll "(.)/(.)" $known "/${1}${2}") (regexReplaceAll "(.)/(.)" $known "${1}${2}/")) -}}
{{- end -}}
{{- $others := list -}}
{{- range $mistakes }}{{ if not (hasPrefix "nvidia.com/" .) }}{{ $others = append $others . }}{{ end }}{{ end -}}
{{- $tests = append $tests (printf "name.lowerAscii() in ['%s']" ($others | uniq | join "', '")) -}}
{{- $tests | uniq | join " || " -}}
{{- end -}}

{{/*
Whether a list of containers has more elements than the API server's budget for CEL allows. The API server skips an entry
with the policy `Ignore` whose condition costs more, so a pod could hide one variable behind 150,000 others. The webhook
reads all of them. Takes `list` and `sizes`, the number of elements in a container `c`. Half of the budget is left.
*/}}
{{- define "gpushare-webhook.cel.tooMany" -}}
{{ .list }}.size() > 500 || {{ .list }}.map(c, {{ .sizes }}).sum() > 5000
{{- end -}}

{{/*
Whether the environment of a container `c` or one of its mounts exposes GPUs to it (GPS007). The webhook normalises paths;
no spelling of the folder is without its name. Searching long text is costly, and such paths are rare.
*/}}
{{- define "gpushare-webhook.cel.sees" -}}
c.?env.orValue([]).exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && !(e.?value.orValue('') in ['void', 'none'])) || c.?volumeMounts.orValue([]).exists(m, m.mountPath.size() > 100 || m.mountPath.contains('nvidia-container-devices'))
{{- end -}}

{{/*
Whether GPUs are exposed to an ephemeral container of a pod, or one is privileged in a pod that asks for a GPU (GPS007).
Existing containers count too: CEL would compare each with all others, beyond the budget, while the webhook uses a set.
*/}}
{{- define "gpushare-webhook.cel.ephemeralSees" -}}
{{- $list := "object.spec.?ephemeralContainers.orValue([])" -}}
{{- $names := include "gpushare-webhook.cel.namesGpu" (dict "root" . "spec" "object.spec") -}}
{{- $annotated := include "gpushare-webhook.cel.asksByAnnotation" (dict "root" . "template" "object") -}}
{{- $asks := compact (list $annotated $names) | join " || " -}}
{{ include "gpushare-webhook.cel.tooMany" (dict "list" $list "sizes" "c.?env.orValue([]).size() + c.?volumeMounts.orValue([]).size()") }} || {{ $list }}.exists(c, {{ include "gpushare-webhook.cel.sees" . }}) || ({{ $list }}.exists(c, c.?securityContext.?privileged.orValue(false)) && ({{ $asks }}))
{{- end -}}

{{/* Whether a pod is new, or an update removes its last scheduling gate: then the scheduler may place it. */}}
{{- define "gpushare-webhook.cel.newOrReleased" -}}
oldObject == null || (oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0)
{{- end -}}

{{/*
Whether a pod that names no GPU resource still concerns the webhook: it asks for a share by annotation, its environment, a
mount or its runtime class exposes GPUs (GPS007), it asks for a name that may be a typo (GPS013), or it has
gpushare-webhook annotations (GPS018), or too many annotations to read in CEL. Takes the root and `template`.
*/}}
{{- define "gpushare-webhook.cel.concernsGpu" -}}
{{- $named := include "gpushare-webhook.cel.anyResource" (dict "container" "c" "test" (include "gpushare-webhook.cel.isTypo" .root)) -}}
{{- $sees := include "gpushare-webhook.cel.sees" . -}}
{{- $sizes := "c.?env.orValue([]).size() + c.?volumeMounts.orValue([]).size() + c.?resources.?limits.orValue({}).size() + c.?resources.?requests.orValue({}).size()" -}}
{{- $many := include "gpushare-webhook.cel.tooMany" (dict "list" "list" "sizes" $sizes) -}}
{{- $spec := printf "%s.?spec" .template -}}
{{- $annotations := printf "%s.?metadata.?annotations.orValue({})" .template -}}
{{- $runtime := printf "%s.?runtimeClassName.orValue('')" $spec -}}
{{- $class := (include "gpushare-webhook.settings" .root | fromJson).injections.runtimeClass.name -}}
{{- with include "gpushare-webhook.cel.asksByAnnotation" . }}{{ . }} || {{ end -}}
{{ $runtime }} != null && ({{ $runtime }}.startsWith('nvidia') || {{ $runtime }} == '{{ $class }}') || [{{ $spec }}.?containers.orValue([]), {{ $spec }}.?initContainers.orValue([])].exists(list, list != null && ({{ $many }} || list.exists(c, {{ $sees }} || {{ $named }}))) || {{ $annotations }}.size() > 500 || {{ $annotations }}.exists(key, key.startsWith('gpushare-webhook/'))
{{- end -}}

{{/* Whether a ConfigMap is one of those that the values name, as a list in CEL. A new one may have no name yet. */}}
{{- define "gpushare-webhook.cel.holdsPluginConfig" -}}
request.namespace + '/' + object.metadata.?name.orValue('') in ['{{ .Values.webhooks.devicePluginConfigMaps | join "', '" }}']
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
