{{/*
Conditions for custom kinds, made from the paths of `config.workloads.paths`. In a path `[*]` goes through a list, `.*`
through the members of a mapping. In CEL `[?key]` leads on from what may not be there, whatever the key is called, and
`dyn` keeps what stands in for it comparable with null.
*/}}

{{/* The paths of a kind, as a list in JSON. Takes the root and `kind`. */}}
{{- define "gpushare-webhook.kind.paths" -}}
{{- $paths := list -}}
{{- range (include "gpushare-webhook.settings" .root | fromJson).workloads.paths -}}
{{- if and (eq .kind $.kind.kind) (eq .group ($.kind.group | default "")) -}}
{{- $paths = append $paths (dict "steps" (.path | replace "[*]" ".[*]" | splitList ".") "holds" .holds) -}}
{{- end -}}
{{- end -}}
{{- if not $paths -}}
{{- fail (printf "webhooks.customKinds names %s, but config.workloads.paths does not say where it keeps its pod templates" .kind.kind) -}}
{{- end -}}
{{- toJson $paths -}}
{{- end -}}

{{/* Whether a pod below `at` names a GPU resource. Takes the root, `at`, `steps` from there, `holds` and `depth`. */}}
{{- define "gpushare-webhook.kind.namesGpu" -}}
{{- $rest := rest .steps -}}
{{- $step := first .steps -}}
{{- $next := dict "root" .root "steps" $rest "holds" .holds "depth" (add1 .depth) -}}
{{- if and (not .steps) (eq .holds "container") -}}
{{- include "gpushare-webhook.cel.anyResource" (dict "container" .at "test" (include "gpushare-webhook.cel.isGpu" .root)) -}}
{{- else if not .steps -}}
{{- include "gpushare-webhook.cel.namesGpu" (dict "root" .root "spec" (eq .holds "podSpec" | ternary .at (printf "%s.?spec" .at))) -}}
{{- else if eq $step "[*]" -}}
{{- $element := printf "e%d" .depth -}}
[{{ .at }}.orValue(dyn([]))].exists(l, l != null && l.exists({{ $element }}, {{ include "gpushare-webhook.kind.namesGpu" (merge (dict "at" $element) $next) }}))
{{- else if eq $step "*" -}}
{{- $member := printf "m%d[?k%d]" .depth .depth -}}
[{{ .at }}.orValue(dyn({}))].exists(m{{ .depth }}, m{{ .depth }} != null && m{{ .depth }}.exists(k{{ .depth }}, {{ include "gpushare-webhook.kind.namesGpu" (merge (dict "at" $member) $next) }}))
{{- else -}}
{{- include "gpushare-webhook.kind.namesGpu" (merge (dict "at" (printf "%s[?'%s']" .at $step)) $next) -}}
{{- end -}}
{{- end -}}

{{/* What stands at the end of a path, in the elements of its lists. Takes `at`, `steps` and `depth`. */}}
{{- define "gpushare-webhook.kind.part" -}}
{{- $step := first .steps -}}
{{- $next := dict "steps" (rest .steps) "depth" (add1 .depth) -}}
{{- if or (not .steps) (eq $step "*") -}}
{{- .at -}}
{{- else if eq $step "[*]" -}}
{{- $element := printf "e%d" .depth -}}
[{{ .at }}.orValue(dyn([]))].filter(l, l != null).map(l, l.map({{ $element }}, {{ include "gpushare-webhook.kind.part" (merge (dict "at" $element) $next) }}))
{{- else -}}
{{- include "gpushare-webhook.kind.part" (merge (dict "at" (printf "%s[?'%s']" .at $step)) $next) -}}
{{- end -}}
{{- end -}}

{{/*
Whether a path leads to something else now than before, so that scaling beside a template does not count. Takes `now`,
`before`, `steps` and `depth`. Below a list a mapping counts as a whole: CEL walks mappings in no fixed order.
*/}}
{{- define "gpushare-webhook.kind.changed" -}}
{{- $step := first .steps -}}
{{- $next := dict "steps" (rest .steps) "depth" (add1 .depth) -}}
{{- if or (not .steps) (eq $step "[*]") -}}
{{- $now := include "gpushare-webhook.kind.part" (dict "at" .now "steps" .steps "depth" .depth) -}}
{{- $before := include "gpushare-webhook.kind.part" (dict "at" .before "steps" .steps "depth" .depth) -}}
{{ $now }} != {{ $before }}
{{- else if eq $step "*" -}}
{{- $member := dict "now" (printf "m%d[?k%d]" .depth .depth) "before" (printf "%s[?k%d]" .before .depth) -}}
[{{ .now }}.orValue(dyn({}))].exists(m{{ .depth }}, m{{ .depth }} != null && m{{ .depth }}.exists(k{{ .depth }}, {{ include "gpushare-webhook.kind.changed" (merge $member $next) }}))
{{- else -}}
{{- $member := dict "now" (printf "%s[?'%s']" .now $step) "before" (printf "%s[?'%s']" .before $step) -}}
{{- include "gpushare-webhook.kind.changed" (merge $member $next) -}}
{{- end -}}
{{- end -}}
