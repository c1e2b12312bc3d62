{{/*
The conditions for custom kinds in CEL, made from the paths of their pods. In a path, `[*]` goes through a list and `.*`
through the members of a mapping. What an open schema leaves unchecked, such as null for a list, counts as absent.

An object is sent unread if it holds more than CEL should read: more than 500 pods in a list, which could exceed the API
server's budget, or more than 100 keys in a mapping, because the time to read keys grows faster than their number.
*/}}

{{/* The steps of a path, in JSON. */}}
{{- define "gpushare-webhook.steps" -}}
{{- . | replace "[*]" ".[*]" | splitList "." | compact | toJson -}}
{{- end -}}

{{/* Whether all steps may follow a dot in CEL. */}}
{{- define "gpushare-webhook.cel.areNames" -}}
{{- $others := without . "as" "break" "const" "continue" "else" "false" "for" "function" "if" "import" "in" "let" "loop" "namespace" "null" "package" "return" "true" "var" "void" "while" -}}
{{- if and (eq (len .) (len $others)) (not (contains "-" (join "" .))) }}true{{ end -}}
{{- end -}}

{{/* The value below `at` to which `steps` lead, in which nothing is repeated. It is optional if there are steps. */}}
{{- define "gpushare-webhook.cel.below" -}}
{{- $select := include "gpushare-webhook.cel.areNames" .steps | empty | ternary "[?'%s']" ".?%s" -}}
{{- .at }}{{ range .steps }}{{ printf $select . }}{{ end -}}
{{- end -}}

{{/*
The same as the element of a list, which is left out if the value is absent. CEL does not know that what an index leads to
is optional (cel-go v0.29 ends with an index out of range), so null stands for it.
*/}}
{{- define "gpushare-webhook.cel.element" -}}
{{- $value := include "gpushare-webhook.cel.below" . -}}
{{- if not .steps }}{{ $value -}}
{{- else if include "gpushare-webhook.cel.areNames" .steps }}?{{ $value -}}
{{- else }}{{ $value }}.orValue(dyn(null)){{ end -}}
{{- end -}}

{{/* The steps before the first that is repeated, that step, and the steps after it, in JSON. */}}
{{- define "gpushare-webhook.split" -}}
{{- $before := list -}}
{{- $repeated := "" -}}
{{- $after := list -}}
{{- range . -}}
{{- if $repeated }}{{ $after = append $after . -}}
{{- else if has . (list "[*]" "*") }}{{ $repeated = . -}}
{{- else }}{{ $before = append $before . }}{{ end -}}
{{- end -}}
{{- dict "before" $before "repeated" $repeated "after" $after | toJson -}}
{{- end -}}

{{/*
The pods of kinds, in JSON: the steps to them, by their parts in JSON. A part is a list of containers, or one container,
and the form of a container: its own, its bare resources, a step of Tekton, a GPU of Spark, or a number of GPUs.
*/}}
{{- define "gpushare-webhook.podsByParts" -}}
{{- $found := dict -}}
{{- $spec := list (dict "path" "initContainers[*]" "form" "container") (dict "path" "containers[*]" "form" "container") -}}
{{- range .held -}}
{{- range .paths -}}
{{- $path := eq "template" (toString .holds) | ternary (printf "%s.spec" .path) .path -}}
{{- $parts := .holds -}}
{{- if has .holds (list "template" "podSpec") }}{{ $parts = $spec -}}
{{- else if kindIs "string" .holds }}{{ $parts = list (dict "path" "" "form" .holds) }}{{ end -}}
{{- $steps := include "gpushare-webhook.steps" $path | fromJsonArray -}}
{{- $found = set $found (toJson $parts) (append (get $found (toJson $parts) | default list) $steps | uniq) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Whether a pod of an object of these kinds names a GPU resource. Takes the root and `held`. */}}
{{- define "gpushare-webhook.cel.podsNameGpu" -}}
{{- $tests := list -}}
{{- range $parts, $pods := include "gpushare-webhook.podsByParts" . | fromJson -}}
{{- $test := include "gpushare-webhook.cel.partsNameGpu" (dict "root" $.root "parts" (fromJsonArray $parts)) -}}
{{- $tests = append $tests (include "gpushare-webhook.cel.anyPod" (dict "at" "object" "pods" $pods "test" $test "depth" 0)) -}}
{{- end -}}
{{- $tests | join " ||\n" -}}
{{- end -}}

{{/*
Whether one of the pods below `at` passes a test of `pod`. Takes `at`, `pods` (the steps to them from there), `test` and
`depth`. Lists whose elements hold pods at the same place are read together.
*/}}
{{- define "gpushare-webhook.cel.anyPod" -}}
{{- $direct := list -}}
{{- $lists := dict -}}
{{- range .pods -}}
{{- $split := include "gpushare-webhook.split" . | fromJson -}}
{{- $element := include "gpushare-webhook.cel.element" (dict "at" $.at "steps" $split.before) -}}
{{- if $split.repeated -}}
{{- $rest := pick $split "repeated" "after" | toJson -}}
{{- $lists = set $lists $rest (append (get $lists $rest | default list) $element) -}}
{{- else -}}
{{- $direct = append $direct $element -}}
{{- end -}}
{{- end -}}
{{- $tests := list -}}
{{- with $direct }}{{ $tests = append $tests (printf "%s.exists(pod, type(pod) == map &&%s)" (include "gpushare-webhook.cel.list" .) (nindent 2 $.test)) }}{{ end -}}
{{- range $rest, $elements := $lists -}}
{{- $rest = fromJson $rest -}}
{{- $list := include "gpushare-webhook.cel.list" $elements -}}
{{- $held := printf "held%d" $.depth -}}
{{- $next := dict "pods" (list $rest.after) "test" $.test "depth" (add1 $.depth) -}}
{{- if eq $rest.repeated "*" -}}
{{- $key := printf "key%d" $.depth -}}
{{- $member := printf "%s[%s]" $held $key -}}
{{- $inner := include "gpushare-webhook.cel.anyPod" (merge (dict "at" $member) $next) | nindent 2 -}}
{{- $tests = append $tests (printf "%s.exists(%s, type(%s) == map && (%s.size() > 100 || %s.exists(%s,%s%s)))" $list $held $held $held $held $key (include "gpushare-webhook.cel.isMapping" (dict "value" $member "steps" $rest.after)) $inner) -}}
{{- else -}}
{{- $one := printf "one%d" $.depth -}}
{{- $inner := include "gpushare-webhook.cel.anyPod" (merge (dict "at" $one) $next) | nindent 2 -}}
{{- $tests = append $tests (printf "%s.exists(%s, type(%s) == list && (%s.size() > 500 || %s.exists(%s,%s%s)))" $list $held $held $held $held $one (include "gpushare-webhook.cel.isMapping" (dict "value" $one "steps" $rest.after)) $inner) -}}
{{- end -}}
{{- end -}}
{{- $tests | join " ||\n" -}}
{{- end -}}

{{/* The test that a `value` is a mapping, unless `steps` lead on through a list or mapping in it, which has its own test. */}}
{{- define "gpushare-webhook.cel.isMapping" -}}
{{- if not (has (first .steps) (list "[*]" "*")) }} type({{ .value }}) == map &&{{ end -}}
{{- end -}}

{{/* A list of elements: several on a line of their own each. */}}
{{- define "gpushare-webhook.cel.list" -}}
{{- if eq 1 (len .) }}[{{ first . }}]{{ else }}[{{ join ",\n" . | nindent 2 }}
]{{ end -}}
{{- end -}}

{{/* Whether one of the `parts` of `pod` names a GPU resource. */}}
{{- define "gpushare-webhook.cel.partsNameGpu" -}}
{{- $forms := dict -}}
{{- range .parts }}{{ $forms = set $forms .form (append (get $forms .form | default list) .path) }}{{ end -}}
{{- $tests := list -}}
{{- range $form, $paths := $forms -}}
{{- $lists := list -}}
{{- $single := list -}}
{{- range $paths -}}
{{- $steps := include "gpushare-webhook.steps" (trimSuffix "[*]" .) | fromJsonArray -}}
{{- $element := include "gpushare-webhook.cel.element" (dict "at" "pod" "steps" $steps) -}}
{{- if hasSuffix "[*]" . }}{{ $lists = append $lists $element }}{{ else }}{{ $single = append $single $element }}{{ end -}}
{{- end -}}
{{- $test := include (printf "gpushare-webhook.cel.%sNamesGpu" $form) $.root | nindent 2 -}}
{{- if $lists -}}
{{- with $single }}{{ $lists = append $lists (printf "dyn([%s])" (join ", " .)) }}{{ end -}}
{{- $tests = append $tests (printf "[%s].exists(held, type(held) == list && held.exists(c, type(c) == map &&%s))" ($lists | join ", ") $test) -}}
{{- else -}}
{{- $tests = append $tests (printf "[%s].exists(c, type(c) == map &&%s)" ($single | join ", ") $test) -}}
{{- end -}}
{{- end -}}
{{- if gt (len $tests) 1 }}({{ join " ||\n" $tests }}){{ else }}{{ first $tests }}{{ end -}}
{{- end -}}

{{/* Whether a container `c` of a form names a GPU resource. */}}
{{- define "gpushare-webhook.cel.containerNamesGpu" -}}
[?c.?resources.?limits, ?c.?resources.?requests].{{ include "gpushare-webhook.cel.amountsNameGpu" . }}
{{- end -}}

{{- define "gpushare-webhook.cel.stepNamesGpu" -}}
[?c.?computeResources.?limits, ?c.?computeResources.?requests, ?c.?resources.?limits, ?c.?resources.?requests].{{ include "gpushare-webhook.cel.amountsNameGpu" . }}
{{- end -}}

{{- define "gpushare-webhook.cel.trainerNamesGpu" -}}
[?c.?resourcesPerNode.?limits, ?c.?resourcesPerNode.?requests].{{ include "gpushare-webhook.cel.amountsNameGpu" . }}
{{- end -}}

{{- define "gpushare-webhook.cel.resourcesNamesGpu" -}}
[?c.?limits, ?c.?requests].{{ include "gpushare-webhook.cel.amountsNameGpu" . }}
{{- end -}}

{{- define "gpushare-webhook.cel.sparkNamesGpu" -}}
[?c.?gpu.?name].exists(name, type(name) == string && ({{ include "gpushare-webhook.cel.isGpu" . }}))
{{- end -}}

{{/* An own form of resources names no resource: without `gpuType` it is NVIDIA's. */}}
{{- define "gpushare-webhook.cel.gpusNamesGpu" -}}
[?c.?gpu].exists(amount, amount != null)
{{- end -}}

{{- define "gpushare-webhook.cel.amountsNameGpu" -}}
exists(amounts, type(amounts) == map && (amounts.size() > 100 ||
    amounts.exists(name, {{ include "gpushare-webhook.cel.isGpu" . }})))
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
{{- if not $isWithin -}}
{{- $steps := include "gpushare-webhook.steps" .path | fromJsonArray -}}
{{- $changed = append $changed (include "gpushare-webhook.cel.changed" (dict "now" "object" "before" "oldObject" "steps" $steps "depth" 0)) -}}
{{- end -}}
{{- end -}}
{{- if eq 1 (len $.held) -}}
{{- $tests = concat $tests $changed -}}
{{- else -}}
{{- $is := eq 1 (len .kinds) | ternary "== '%s'" "in ['%s']" -}}
{{- $tests = append $tests (printf "request.kind.kind %s && (%s)" (printf $is (.kinds | join "', '")) ($changed | uniq | join " ||\n" | nindent 2)) -}}
{{- end -}}
{{- end -}}
{{- $tests | uniq | join " ||\n" -}}
{{- end -}}

{{/*
Whether a path leads to something else now than before. Takes `now`, `before`, `steps` and `depth`. Below a list a mapping
counts as a whole: CEL walks mappings in no fixed order.
*/}}
{{- define "gpushare-webhook.cel.changed" -}}
{{- $split := include "gpushare-webhook.split" .steps | fromJson -}}
{{- $now := include "gpushare-webhook.cel.element" (dict "at" .now "steps" $split.before) -}}
{{- $before := include "gpushare-webhook.cel.below" (dict "at" .before "steps" $split.before) -}}
{{- if and (eq $split.repeated "*") $split.after -}}
{{- $held := printf "held%d" .depth -}}
{{- $key := printf "key%d" .depth -}}
{{- $inner := dict "now" (printf "%s[?%s]" $held $key) "before" (printf "%s[?%s]" $before $key) "steps" $split.after "depth" (add1 .depth) -}}
[{{ $now }}].exists({{ $held }}, type({{ $held }}) == map && ({{ $held }}.size() > 100 || {{ $held }}.exists({{ $key }}, {{ include "gpushare-webhook.cel.changed" $inner }})))
{{- else -}}
{{ include "gpushare-webhook.cel.places" (dict "at" .now "steps" .steps "depth" .depth) }} != {{ include "gpushare-webhook.cel.places" (dict "at" .before "steps" .steps "depth" .depth) }}
{{- end -}}
{{- end -}}

{{/* What stands at the end of a path, in the elements of its lists. Takes `at`, `steps` and `depth`. */}}
{{- define "gpushare-webhook.cel.places" -}}
{{- $split := include "gpushare-webhook.split" .steps | fromJson -}}
{{- $value := dict "at" .at "steps" $split.before -}}
{{- if and (eq $split.repeated "[*]") $split.after -}}
{{- $one := printf "one%d" .depth -}}
[{{ include "gpushare-webhook.cel.element" $value }}].filter(held, type(held) == list).map(held, held.map({{ $one }}, {{ if not (has (first $split.after) (list "[*]" "*")) }}type({{ $one }}) == map, {{ end }}{{ include "gpushare-webhook.cel.places" (dict "at" $one "steps" $split.after "depth" (add1 .depth)) }}))
{{- else -}}
{{ include "gpushare-webhook.cel.below" $value }}
{{- end -}}
{{- end -}}
