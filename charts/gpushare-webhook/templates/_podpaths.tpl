{{/*
The conditions for custom kinds in CEL, made from the paths of their pods. In a path, `[*]` goes through a list and `.*`
through the members of a mapping. What an open schema leaves unchecked, such as null for a list, counts as absent.

An object is sent unread if it holds more than CEL should read: more than 500 pods in a list, which could exceed the API
server's budget, or more than 100 keys in a mapping, because the time to read keys grows faster than their number.
*/}}

{{/* A path at the first step that is repeated, in JSON: what is `before` it, `[*]` or `*`, and what is `after` it. */}}
{{- define "gpushare-webhook.split" -}}
{{- $parts := regexSplit "[.]?(\\[[*]]|[*])[.]?" . 2 -}}
{{- dict "before" (first $parts) "repeated" (regexFind "\\[[*]]|[*]" .) "after" (rest $parts | join "") | toJson -}}
{{- end -}}

{{/* The value below `at` to which a `path` leads, in which nothing is repeated. It is optional if there is a path. */}}
{{- define "gpushare-webhook.cel.below" -}}
{{- $select := regexMatch "-|(^|[.])(false|in|null|true)([.]|$)" .path | ternary "[?'%s']" ".?%s" -}}
{{- .at }}{{ range splitList "." .path | compact }}{{ printf $select . }}{{ end -}}
{{- end -}}

{{/*
The same as the element of a list, which is left out if the value is absent. CEL does not know that what an index leads to
is optional (cel-go v0.29 ends with an index out of range), so null stands for it.
*/}}
{{- define "gpushare-webhook.cel.element" -}}
{{- $value := include "gpushare-webhook.cel.below" . -}}
{{- if not .path }}{{ $value }}{{ else if contains "[?'" $value }}{{ $value }}.orValue(dyn(null)){{ else }}?{{ $value }}{{ end -}}
{{- end -}}

{{/*
Whether a pod of an object of these kinds names a GPU resource. Takes the root and `held`. Pods with the same parts are read
together: the lists of containers, or single containers, by their paths from the pod, and the form of each.
*/}}
{{- define "gpushare-webhook.cel.podsNameGpu" -}}
{{- $spec := list (dict "path" "initContainers[*]" "form" "container") (dict "path" "containers[*]" "form" "container") -}}
{{- $pods := dict -}}
{{- range .held -}}
{{- range .paths -}}
{{- $path := eq "template" (toString .holds) | ternary (printf "%s.spec" .path) .path -}}
{{- $parts := .holds -}}
{{- if has .holds (list "template" "podSpec") }}{{ $parts = $spec -}}
{{- else if kindIs "string" .holds }}{{ $parts = list (dict "path" "" "form" .holds) }}{{ end -}}
{{- $_ := set $pods (toJson $parts) (append (get $pods (toJson $parts) | default list) $path | uniq) -}}
{{- end -}}
{{- end -}}
{{- $tests := list -}}
{{- range $parts, $paths := $pods -}}
{{- $test := include "gpushare-webhook.cel.partsNameGpu" (dict "root" $.root "parts" (fromJsonArray $parts)) -}}
{{- $tests = append $tests (include "gpushare-webhook.cel.anyPod" (dict "at" "object" "paths" $paths "test" $test "depth" 0)) -}}
{{- end -}}
{{- $tests | join " ||\n" -}}
{{- end -}}

{{/*
Whether one of the pods below `at` passes a test of `pod`. Takes `at`, the `paths` from there, `test` and `depth`. Lists whose
elements hold pods at the same place are read together.
*/}}
{{- define "gpushare-webhook.cel.anyPod" -}}
{{- $pods := list -}}
{{- $lists := dict -}}
{{- range .paths -}}
{{- $split := include "gpushare-webhook.split" . | fromJson -}}
{{- $element := include "gpushare-webhook.cel.element" (dict "at" $.at "path" $split.before) -}}
{{- $rest := omit $split "before" | toJson -}}
{{- if $split.repeated }}{{ $_ := set $lists $rest (append (get $lists $rest | default list) $element) -}}
{{- else }}{{ $pods = append $pods $element }}{{ end -}}
{{- end -}}
{{- $tests := list -}}
{{- with $pods }}{{ $tests = append $tests (printf "%s.exists(pod, type(pod) == map &&%s)" (include "gpushare-webhook.cel.list" .) (nindent 2 $.test)) }}{{ end -}}
{{- range $rest, $elements := $lists -}}
{{- $tests = append $tests (include "gpushare-webhook.cel.anyElement" (merge (dict "list" (include "gpushare-webhook.cel.list" $elements)) (fromJson $rest) (pick $ "test" "depth"))) -}}
{{- end -}}
{{- $tests | join " ||\n" -}}
{{- end -}}

{{/* The same for the elements of a `list` of lists or mappings. Takes which of both is `repeated`, and the path `after` it. */}}
{{- define "gpushare-webhook.cel.anyElement" -}}
{{- $held := printf "held%d" .depth -}}
{{- $one := printf "one%d" .depth -}}
{{- $at := $one -}}
{{- if eq "*" .repeated }}{{ $one = printf "key%d" .depth }}{{ $at = printf "%s[%s]" $held $one }}{{ end -}}
{{ .list }}.exists({{ $held }}, type({{ $held }}) == {{ eq "*" .repeated | ternary "map" "list" }} && ({{ $held }}.size() > {{ eq "*" .repeated | ternary 100 500 }} || {{ $held }}.exists({{ $one }},
{{- /* A list or mapping to which the path leads on has a test of its own. */ -}}
{{- if not (regexMatch "^[[*]" .after) }} type({{ $at }}) == map &&{{ end -}}
{{- include "gpushare-webhook.cel.anyPod" (dict "at" $at "paths" (list .after) "test" .test "depth" (add1 .depth)) | nindent 2 }})))
{{- end -}}

{{- define "gpushare-webhook.cel.list" -}}
{{- if eq 1 (len .) }}[{{ first . }}]{{ else }}[{{ join ",\n" . | nindent 2 }}
]{{ end -}}
{{- end -}}

{{/* Whether one of the `parts` of `pod` names a GPU resource. */}}
{{- define "gpushare-webhook.cel.partsNameGpu" -}}
{{- $forms := dict -}}
{{- range .parts }}{{ $_ := set $forms .form (append (get $forms .form | default list) .path) }}{{ end -}}
{{- $tests := list -}}
{{- range $form, $paths := $forms -}}
{{- $lists := list -}}
{{- $single := list -}}
{{- range $paths -}}
{{- $element := include "gpushare-webhook.cel.element" (dict "at" "pod" "path" (trimSuffix "[*]" .)) -}}
{{- if hasSuffix "[*]" . }}{{ $lists = append $lists $element }}{{ else }}{{ $single = append $single $element }}{{ end -}}
{{- end -}}
{{- $test := include "gpushare-webhook.cel.containerNamesGpu" (dict "root" $.root "form" $form) | nindent 2 | printf "exists(c, type(c) == map &&%s)" -}}
{{- if not $lists }}{{ $tests = append $tests (printf "[%s].%s" (join ", " $single) $test) -}}
{{- else -}}
{{- with $single }}{{ $lists = append $lists (printf "dyn([%s])" (join ", " .)) }}{{ end -}}
{{- $tests = append $tests (printf "[%s].exists(held, type(held) == list && held.%s)" (join ", " $lists) $test) -}}
{{- end -}}
{{- end -}}
{{- if gt (len $tests) 1 }}({{ join " ||\n" $tests }}){{ else }}{{ first $tests }}{{ end -}}
{{- end -}}

{{/*
Whether a container `c` of a form names a GPU resource: its own form, its bare resources, a step of Tekton, a trainer, or a
GPU of Spark.
*/}}
{{- define "gpushare-webhook.cel.containerNamesGpu" -}}
{{- $isGpu := include "gpushare-webhook.cel.isGpu" .root -}}
{{- if eq .form "spark" -}}
[?c.?gpu.?name].exists(name, type(name) == string && ({{ $isGpu }}))
{{- else -}}
{{- $at := get (dict "container" (list "c.?resources") "resources" (list "c") "step" (list "c.?computeResources" "c.?resources") "trainer" (list "c.?resourcesPerNode")) .form -}}
[{{ range $index, $resources := $at }}{{ if $index }}, {{ end }}?{{ . }}.?limits, ?{{ . }}.?requests{{ end }}].exists(amounts, type(amounts) == map && (amounts.size() > 100 ||
    amounts.exists(name, {{ $isGpu }})))
{{- end -}}
{{- end -}}

{{/* Whether an object is new, or an update changes a pod in it: nothing beside the pods counts. Takes `held`. */}}
{{- define "gpushare-webhook.cel.podsAreNew" -}}
{{- $tests := list "oldObject == null" -}}
{{- range .held -}}
{{- $changed := list -}}
{{- $paths := .paths -}}
{{- range .paths -}}
{{- $isWithin := false -}}
{{- $path := .path -}}
{{- range $paths }}{{ if hasPrefix (printf "%s." .path) $path }}{{ $isWithin = true }}{{ end }}{{ end -}}
{{- if not $isWithin }}{{ $changed = append $changed (include "gpushare-webhook.cel.changed" (dict "now" "object" "before" "oldObject" "path" $path "depth" 0)) }}{{ end -}}
{{- end -}}
{{- if eq 1 (len $.held) }}{{ $tests = concat $tests $changed -}}
{{- else -}}
{{- $is := eq 1 (len .kinds) | ternary "== '%s'" "in ['%s']" -}}
{{- $tests = append $tests (printf "request.kind.kind %s && (%s)" (printf $is (.kinds | join "', '")) ($changed | uniq | join " ||\n" | nindent 2)) -}}
{{- end -}}
{{- end -}}
{{- $tests | uniq | join " ||\n" -}}
{{- end -}}

{{/*
Whether a path leads to something else now than before. Takes `now`, `before`, `path` and `depth`. Below a list a mapping
counts as a whole: CEL walks mappings in no fixed order.
*/}}
{{- define "gpushare-webhook.cel.changed" -}}
{{- $split := include "gpushare-webhook.split" .path | fromJson -}}
{{- if and (eq $split.repeated "*") $split.after -}}
{{- $held := printf "held%d" .depth -}}
{{- $key := printf "key%d" .depth -}}
{{- $before := include "gpushare-webhook.cel.below" (dict "at" .before "path" $split.before) -}}
{{- $inner := dict "now" (printf "%s[?%s]" $held $key) "before" (printf "%s[?%s]" $before $key) "path" $split.after "depth" (add1 .depth) -}}
[{{ include "gpushare-webhook.cel.element" (dict "at" .now "path" $split.before) }}].exists({{ $held }}, type({{ $held }}) == map && ({{ $held }}.size() > 100 || {{ $held }}.exists({{ $key }}, {{ include "gpushare-webhook.cel.changed" $inner }})))
{{- else -}}
{{ include "gpushare-webhook.cel.places" (merge (dict "at" .now) .) }} != {{ include "gpushare-webhook.cel.places" (merge (dict "at" .before) .) }}
{{- end -}}
{{- end -}}

{{/* What stands at the end of a `path`, in the elements of its lists. Takes `at`, `path` and `depth`. */}}
{{- define "gpushare-webhook.cel.places" -}}
{{- $split := include "gpushare-webhook.split" .path | fromJson -}}
{{- $value := dict "at" .at "path" $split.before -}}
{{- if and (eq $split.repeated "[*]") $split.after -}}
{{- $one := printf "one%d" .depth -}}
[{{ include "gpushare-webhook.cel.element" $value }}].filter(held, type(held) == list).map(held, held.map({{ $one }}, {{ if not (regexMatch "^[[*]" $split.after) }}type({{ $one }}) == map, {{ end }}{{ include "gpushare-webhook.cel.places" (dict "at" $one "path" $split.after "depth" (add1 .depth)) }}))
{{- else -}}
{{ include "gpushare-webhook.cel.below" $value }}
{{- end -}}
{{- end -}}
