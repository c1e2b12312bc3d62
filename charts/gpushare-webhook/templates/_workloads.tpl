{{/*
The entries of custom kinds by name, in JSON: the names of their kinds, their rules, and what they hold, each with paths and
the kinds that have them. The kinds are those of the presets that `config.workloads.presets` names, which the entry of the
preset sends, and those of `config.workloads.paths`, each of which has an entry of its own.
*/}}
{{- define "gpushare-webhook.customEntries" -}}
{{- $workloads := (include "gpushare-webhook.settings" . | fromJson).workloads -}}
{{- $builtIn := include "gpushare-webhook.builtInKinds" . | fromJsonArray -}}
{{- $kinds := dict -}}
{{- range $preset, $held := include "gpushare-webhook.presets" . | fromJson -}}
{{- if or (has "all" $workloads.presets) (has $preset $workloads.presets) -}}
{{- range $held.kinds }}{{ $_ := set $kinds (printf "%s/%s" .group .kind) (set . "entry" $preset) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $workloads.paths -}}
{{- $name := printf "%s/%s" .group .kind -}}
{{- if not (has $name $builtIn) -}}
{{- $new := dict "group" .group "kind" .kind "resource" (printf "%ss" (lower .kind)) "namespaced" (eq .scope "Namespaced") "paths" list -}}
{{- $kind := get $kinds $name | default $new -}}
{{- with .resource }}{{ $_ := set $kind "resource" . }}{{ end -}}
{{- with .versions }}{{ $_ := set $kind "versions" . }}{{ end -}}
{{- $_ := set $kinds $name (set $kind "paths" (append $kind.paths (pick . "path" "holds"))) -}}
{{- end -}}
{{- end -}}
{{- $entries := dict -}}
{{- range $kinds -}}
{{- $name := .entry | default (printf "%s.%s" .resource .group | trimSuffix ".") -}}
{{- $entry := get $entries $name | default (dict "kinds" list "rules" dict "held" dict) -}}
{{- $rule := dict "group" .group "versions" (.versions | default (list "*")) "scope" (.namespaced | ternary "Namespaced" "Cluster") | toJson -}}
{{- $_ := set $entry "kinds" (append $entry.kinds .kind) -}}
{{- $_ := set $entry.rules $rule (append (get $entry.rules $rule | default list) .resource) -}}
{{- $_ := set $entry.held (toJson .paths) (append (get $entry.held (toJson .paths) | default list) .kind) -}}
{{- $_ := set $entries $name $entry -}}
{{- end -}}
{{- range $entries -}}
{{- $rules := list -}}
{{- range $rule, $resources := .rules }}{{ $rules = append $rules (set (fromJson $rule) "resources" $resources) }}{{ end -}}
{{- $held := list -}}
{{- range $paths, $kinds := .held }}{{ $held = append $held (dict "paths" (fromJsonArray $paths) "kinds" $kinds) }}{{ end -}}
{{- $_ := set . "rules" $rules -}}
{{- $_ := set . "held" $held -}}
{{- end -}}
{{- toJson $entries -}}
{{- end -}}
