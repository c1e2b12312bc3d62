{{/*
The custom kinds: those of the presets that `config.workloads.presets` names, and those of `config.workloads.paths`. The
entry of a preset sends its kinds; any other kind has an entry of its own.
*/}}

{{/* The kinds of the chosen presets by GROUP/KIND, in JSON. `entry` is the preset, which names the entry of its kinds. */}}
{{- define "gpushare-webhook.presetKinds" -}}
{{- $chosen := (include "gpushare-webhook.settings" . | fromJson).workloads.presets -}}
{{- $kinds := dict -}}
{{- range $preset, $held := include "gpushare-webhook.presets" . | fromJson -}}
{{- if or (has "all" $chosen) (has $preset $chosen) -}}
{{- range $held.kinds }}{{ $kinds = set $kinds (printf "%s/%s" .group .kind) (set . "entry" $preset) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $kinds -}}
{{- end -}}

{{/* The custom kinds by GROUP/KIND, in JSON. `entry` is the name of the entry that sends the kind. */}}
{{- define "gpushare-webhook.customKinds" -}}
{{- $workloads := (include "gpushare-webhook.settings" . | fromJson).workloads -}}
{{- $builtIn := include "gpushare-webhook.builtInKinds" . | fromJsonArray -}}
{{- $kinds := include "gpushare-webhook.presetKinds" . | fromJson -}}
{{- range $workloads.paths -}}
{{- $name := printf "%s/%s" .group .kind -}}
{{- if not (has $name $builtIn) -}}
{{- $new := dict "group" .group "kind" .kind "resource" (printf "%ss" (lower .kind)) "versions" list "namespaced" (eq .scope "Namespaced") "paths" list -}}
{{- $kind := get $kinds $name | default $new -}}
{{- with .resource }}{{ $kind = set $kind "resource" . }}{{ end -}}
{{- with .versions }}{{ $kind = set $kind "versions" . }}{{ end -}}
{{- $kinds = set $kinds $name (set $kind "paths" (append $kind.paths (pick . "path" "holds"))) -}}
{{- end -}}
{{- end -}}
{{- range .Values.webhooks.customKinds -}}
{{- $name := printf "%s/%s" .group .kind -}}
{{- if not (hasKey $kinds $name) -}}
{{- fail (printf "webhooks.customKinds names %s, but no preset of config.workloads.presets contains it, and config.workloads.paths does not say where it keeps its pods" .kind) -}}
{{- end -}}
{{- $kinds = set $kinds $name (merge (dict "entry" (printf "%s.%s" .resource .group)) (pick . "resource" "versions") (get $kinds $name)) -}}
{{- end -}}
{{- range $kinds }}{{ if not .entry }}{{ $_ := set . "entry" (printf "%s.%s" .resource .group | trimSuffix ".") }}{{ end }}{{ end -}}
{{- toJson $kinds -}}
{{- end -}}

{{/*
The entries of custom kinds by name, in JSON: the names of their kinds, their rules, and `held`, each with paths and the
kinds that have them.
*/}}
{{- define "gpushare-webhook.customEntries" -}}
{{- $entries := dict -}}
{{- range include "gpushare-webhook.customKinds" . | fromJson -}}
{{- $entry := get $entries .entry | default (dict "kinds" list "resources" dict "having" dict) -}}
{{- $rule := dict "group" .group "versions" (.versions | default (list "*")) "scope" (.namespaced | ternary "Namespaced" "Cluster") | toJson -}}
{{- $paths := toJson .paths -}}
{{- $resources := append (get $entry.resources $rule | default list) .resource -}}
{{- $having := append (get $entry.having $paths | default list) .kind -}}
{{- $entry = dict "kinds" (append $entry.kinds .kind) "resources" (set $entry.resources $rule $resources) "having" (set $entry.having $paths $having) -}}
{{- $entries = set $entries .entry $entry -}}
{{- end -}}
{{- range $entries -}}
{{- $rules := list -}}
{{- range $rule, $resources := .resources -}}
{{- $rules = append $rules (merge (dict "resources" $resources "operations" (list "CREATE" "UPDATE")) (fromJson $rule)) -}}
{{- end -}}
{{- $held := list -}}
{{- range $paths, $kinds := .having }}{{ $held = append $held (dict "kinds" $kinds "paths" (fromJsonArray $paths)) }}{{ end -}}
{{- $_ := set . "rules" $rules -}}
{{- $_ := set . "held" $held -}}
{{- end -}}
{{- toJson $entries -}}
{{- end -}}
