{{/*
The match conditions in CEL. Each takes the entry that it is in: the root, and `pod`, where an object has the metadata and
the spec of a pod, or `held`, where objects of custom kinds have pods. An object may contain an explicit null, so lists and
mappings are compared with null before they are used.
*/}}

{{/* Whether a container `c` names a resource whose `name` passes a test. Takes the test. */}}
{{- define "gpushare-webhook.cel.anyResource" -}}
[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})].exists(amounts, amounts != null && amounts.exists(name, {{ . }}))
{{- end -}}

{{- define "gpushare-webhook.cel.isGpu" -}}
name in ['{{ include "gpushare-webhook.resourceNames" . | fromJsonArray | join "', '" }}'] || name.startsWith('nvidia.com/mig-')
{{- end -}}

{{/*
Whether a pod names a GPU resource, in a container or as a whole (GPS003), or more resources than CEL should read. The API
server's time to read keys of a mapping grows faster than their number, within its own budget: tens of thousands take longer
than a request may take. The webhook reads them in milliseconds.
*/}}
{{- define "gpushare-webhook.condition.names-a-gpu" -}}
{{- if .held }}{{ include "gpushare-webhook.cel.podsNameGpu" . -}}
{{- else -}}
{{- $isGpu := include "gpushare-webhook.cel.isGpu" .root -}}
{{- $spec := eq "object" .pod | ternary "object.spec" (printf "%s.?spec" .pod) -}}
{{- $sizes := "[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})].map(amounts, amounts == null ? 0 : amounts.size()).sum()" -}}
[{{ $spec }}.?containers.orValue([]), {{ $spec }}.?initContainers.orValue([])].exists(list, list != null && (list.map(c, {{ $sizes }}).sum() > 2000 || list.exists(c, {{ include "gpushare-webhook.cel.anyResource" $isGpu }}))) || [{{ $spec }}.?resources.?limits.orValue({}), {{ $spec }}.?resources.?requests.orValue({})].exists(amounts, amounts != null && (amounts.size() > 2000 || amounts.exists(name, {{ $isGpu }})))
{{- end -}}
{{- end -}}

{{- define "gpushare-webhook.condition.names-no-gpu" -}}
!({{ include "gpushare-webhook.condition.names-a-gpu" . }})
{{- end -}}

{{/*
Whether a pod asks for a share of a GPU by annotation, as KAI Scheduler's pods do, or has more annotations than CEL should
read. Empty when no annotation counts.
*/}}
{{- define "gpushare-webhook.condition.asks-by-annotation" -}}
{{- $settings := include "gpushare-webhook.settings" .root | fromJson -}}
{{- $keys := list -}}
{{- range $settings.requests.annotations }}{{ $keys = append $keys .annotation }}{{ end -}}
{{- $cards := list -}}
{{- range $settings.resources }}{{ if ne "mig" .kind }}{{ $cards = append $cards .name }}{{ end }}{{ end -}}
{{- $annotations := printf "%s.?metadata.?annotations.orValue({})" .pod -}}
{{- $tests := list -}}
{{- with $keys }}{{ $tests = append $tests (printf "['%s'].exists(key, key in %s)" (join "', '" .) $annotations) }}{{ end -}}
{{- if $settings.requests.fractions -}}
{{- $tests = append $tests (printf "%s.size() > 500 || %s.exists(key, key.startsWith('nvidia.com/container.'))" $annotations $annotations) -}}
{{- end -}}
{{- if $cards }}{{ join " || " $tests }}{{ end -}}
{{- end -}}

{{- define "gpushare-webhook.cel.asksForGpu" -}}
{{- with include "gpushare-webhook.condition.asks-by-annotation" . }}{{ . }} || {{ end -}}
{{ include "gpushare-webhook.condition.names-a-gpu" . }}
{{- end -}}

{{- define "gpushare-webhook.condition.asks-for-no-gpu" -}}
!({{ include "gpushare-webhook.cel.asksForGpu" . }})
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
{{- $tests = append $tests (printf "name.lowerAscii() in ['%s']" ($mistakes | uniq | join "', '")) -}}
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
{{- define "gpushare-webhook.condition.sees-gpus" -}}
{{- $list := "object.spec.?ephemeralContainers.orValue([])" -}}
{{ include "gpushare-webhook.cel.tooMany" (dict "list" $list "sizes" "c.?env.orValue([]).size() + c.?volumeMounts.orValue([]).size()") }} || {{ $list }}.exists(c, {{ include "gpushare-webhook.cel.sees" . }}) || ({{ $list }}.exists(c, c.?securityContext.?privileged.orValue(false)) && ({{ include "gpushare-webhook.cel.asksForGpu" . }}))
{{- end -}}

{{/* Whether a pod is new, or an update removes its last scheduling gate: then the scheduler may place it. */}}
{{- define "gpushare-webhook.condition.pod-is-new-or-released" -}}
oldObject == null || (oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0)
{{- end -}}

{{- define "gpushare-webhook.condition.template-is-new" -}}
{{- if .held }}{{ include "gpushare-webhook.cel.podsAreNew" . -}}
{{- else -}}
oldObject == null || {{ .pod }} != {{ replace "object" "oldObject" .pod }}
{{- end -}}
{{- end -}}

{{/*
Whether a pod that names no GPU resource still concerns the webhook: it asks for a share by annotation, its environment, a
mount or its runtime class exposes GPUs (GPS007), it asks for a name that may be a typo (GPS013), or it has
gpushare-webhook annotations (GPS018), or too many annotations to read in CEL.
*/}}
{{- define "gpushare-webhook.condition.concerns-a-gpu" -}}
{{- $named := include "gpushare-webhook.cel.isTypo" .root | include "gpushare-webhook.cel.anyResource" -}}
{{- $sizes := "c.?env.orValue([]).size() + c.?volumeMounts.orValue([]).size() + c.?resources.?limits.orValue({}).size() + c.?resources.?requests.orValue({}).size()" -}}
{{- $many := include "gpushare-webhook.cel.tooMany" (dict "list" "list" "sizes" $sizes) -}}
{{- $spec := printf "%s.?spec" .pod -}}
{{- $annotations := printf "%s.?metadata.?annotations.orValue({})" .pod -}}
{{- $runtime := printf "%s.?runtimeClassName.orValue('')" $spec -}}
{{- $class := (include "gpushare-webhook.settings" .root | fromJson).injections.runtimeClass.name -}}
{{- with include "gpushare-webhook.condition.asks-by-annotation" . }}{{ . }} || {{ end -}}
{{ $runtime }} != null && ({{ $runtime }}.startsWith('nvidia') || {{ $runtime }} == '{{ $class }}') || [{{ $spec }}.?containers.orValue([]), {{ $spec }}.?initContainers.orValue([])].exists(list, list != null && ({{ $many }} || list.exists(c, {{ include "gpushare-webhook.cel.sees" . }} || {{ $named }}))) || {{ $annotations }}.size() > 500 || {{ $annotations }}.exists(key, key.startsWith('gpushare-webhook/'))
{{- end -}}

{{/* Whether a ConfigMap is one of those that the values name. A new one may have no name yet. */}}
{{- define "gpushare-webhook.condition.holds-plugin-configurations" -}}
request.namespace + '/' + object.metadata.?name.orValue('') in ['{{ .root.Values.webhooks.devicePluginConfigMaps | join "', '" }}']
{{- end -}}

{{- define "gpushare-webhook.condition.data-is-new" -}}
oldObject == null || object.?data.orValue({}) != oldObject.?data.orValue({})
{{- end -}}

{{/* The kubelet already runs what a mirror pod shows. Any user can set the annotation, so it counts only from nodes. */}}
{{- define "gpushare-webhook.condition.not-a-mirror-pod" -}}
!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}) && 'system:nodes' in request.userInfo.?groups.orValue([]))
{{- end -}}

{{/* Whether an update of a pod drops tolerations that the webhook may have injected. Empty when it injects none. */}}
{{- define "gpushare-webhook.condition.lost-a-toleration" -}}
{{- $settings := include "gpushare-webhook.settings" .root | fromJson -}}
{{- $injected := $settings.injections.tolerations -}}
{{- $tolerations := $injected.add -}}
{{- range $settings.resources -}}
{{- if and .renamed $injected.resourceName }}{{ $tolerations = append $tolerations (dict "key" .name "operator" "Exists" "effect" "NoSchedule") }}{{ end -}}
{{- end -}}
{{- $ours := list -}}
{{- range $toleration := $tolerations -}}
{{- $fields := list -}}
{{- range $field := list "key" "operator" "value" "effect" -}}
{{- with get $toleration $field }}{{ $fields = append $fields (printf "'%s': '%s'" $field .) }}{{ end -}}
{{- end -}}
{{- $ours = append $ours (printf "{%s}" (join ", " $fields)) | uniq -}}
{{- end -}}
{{- $had := "oldObject.spec.?tolerations.orValue([])" -}}
{{- $has := "object.spec.?tolerations.orValue([])" -}}
{{- $lost := list -}}
{{- with $ours }}{{ $lost = append $lost (printf "[%s].exists(ours, ours in %s && !(ours in %s))" (join ", " .) $had $has) }}{{ end -}}
{{- range $injected.fromNodes -}}
{{- $pattern := . | replace "." "[.]" | replace "*" ".*" -}}
{{- $lost = append $lost (printf "%s.exists(t, t.?key.orValue('').matches('^%s$') && !(t in %s))" $had $pattern $has) -}}
{{- end -}}
{{- if $injected.enabled }}{{ $lost | join " || " }}{{ end -}}
{{- end -}}
