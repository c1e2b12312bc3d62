{{/* MutatingAdmissionPolicies and their bindings, as webhook/inprocess/mutating.py makes them. */}}

{{/* The policies, in JSON: their names, and the `spec` and `binding` of each. */}}
{{- define "gpushare-webhook.mutatingPolicies" -}}
{{- $root := . -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $fixed := .Files.Get "files/policies.json" | fromJson -}}
{{- $injecting := $fixed.mutating -}}
{{- $modes := include "gpushare-webhook.injectionModes" $settings | fromJsonArray -}}
{{- $reads := include "gpushare-webhook.firstSet" (dict "in" $settings "paths" $injecting.readsParameters) | empty | not -}}
{{- $parameters := $reads | ternary $injecting.parameters "dyn({})" -}}
{{- $policies := list -}}
{{- if not (include "gpushare-webhook.injectionsLeft" .) -}}
{{- range $policy := $injecting.mutations -}}
{{- $applies := include "gpushare-webhook.mayInject" (dict "injections" $settings.injections "policy" $policy) -}}
{{- if and $applies (or (not $policy.obeysMode) (has "on" $modes)) -}}
{{- $conditions := $policy.obeysMode | ternary (list $injecting.mode) list -}}
{{- $conditions = concat $conditions (list $fixed.mirror (dict "name" "names-a-gpu" "expression" (include "gpushare-webhook.policyCondition" (dict "root" $root "condition" $policy.condition "parameters" $parameters)))) -}}
{{- if and $policy.obeysMode (gt (len (uniq $modes)) 1) -}}
{{- $conditions = append $conditions (include "gpushare-webhook.namespaceCondition" (dict "firstMatch" $fixed.firstMatch "name" "injects" "namespaces" $settings.namespaces "values" $modes "value" "on") | fromJson) -}}
{{- end -}}
{{- $variables := include "gpushare-webhook.policyVariables" (dict "root" $root "policy" $policy "shared" $injecting.variables "parameters" $parameters) | fromJsonArray -}}
{{- $hasParameters := and $reads (has "parameters" $policy.names) -}}
{{- $spec := $policy.spec -}}
{{- $_ := set $spec "matchConditions" (concat $conditions ($root.Values.webhooks.matchConditions | default list)) -}}
{{- $_ := set $spec "variables" $variables -}}
{{- $selector := $policy.obeysMode | ternary $root.Values.webhooks.mutating.namespaceSelector dict -}}
{{- $binding := dict "matchResources" (include "gpushare-webhook.policyMatch" (dict "root" $root "selector" $selector) | fromYaml) -}}
{{- if or $hasParameters $policy.obeysMode -}}
{{- $_ := set $spec "paramKind" $fixed.paramKind -}}
{{- $_ := set $binding "paramRef" (include "gpushare-webhook.paramRef" $root | fromYaml) -}}
{{- end -}}
{{- $policies = append $policies (dict "name" $policy.suffix "spec" $spec "binding" $binding) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $policies -}}
{{- end -}}

{{/* The setting that leaves all injections to the webhook; empty if policies make them. */}}
{{- define "gpushare-webhook.injectionsLeft" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $unless := (.Files.Get "files/policies.json" | fromJson).mutating.unless -}}
{{- with include "gpushare-webhook.firstSet" (dict "in" $settings "paths" $unless) -}}
config.{{ . }}
{{- else -}}
{{- if and (include "gpushare-webhook.selectsNamespaces" $settings) (gt (include "gpushare-webhook.injectionModes" $settings | fromJsonArray | uniq | len) 1) -}}
config.namespaces[].selector
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The modes of injections in JSON: in namespaces that no rule of `namespaces` names, and by rule. YAML reads `on` and `off` as
true and false. Takes the settings.
*/}}
{{- define "gpushare-webhook.injectionModes" -}}
{{- $modes := list -}}
{{- $settings := . -}}
{{- range $rule := prepend .namespaces dict -}}
{{- $asked := dig "injections" "mode" "" $rule -}}
{{- if or (kindIs "invalid" $asked) (eq "" (toString $asked)) }}{{ $asked = $settings.injections.mode }}{{ end -}}
{{- if kindIs "invalid" $asked }}{{ $asked = eq "audit" ($rule.mode | default $settings.mode) | ternary "report" "on" }}{{ end -}}
{{- if kindIs "bool" $asked }}{{ $asked = $asked | ternary "on" "off" }}{{ end -}}
{{- $modes = append $modes $asked -}}
{{- end -}}
{{- toJson $modes -}}
{{- end -}}

{{/* Whether a policy could inject anything. Takes the settings `injections`, and the `policy`. */}}
{{- define "gpushare-webhook.mayInject" -}}
{{- $tolerations := .injections.tolerations -}}
{{- $tolerates := and $tolerations.enabled (or $tolerations.add $tolerations.resourceName $tolerations.fromNodes) -}}
{{- $others := or .injections.runtimeClass.enabled .injections.pipeDirectory.enabled .injections.limits.enabled .injections.pipeMount.enabled -}}
{{- if or $tolerates (and .policy.obeysMode $others) }}true{{ end -}}
{{- end -}}

{{/*
A match condition with the expressions of the variables that it names, which match conditions do not have. Takes the root, the
`condition`, and the expression of `parameters`.
*/}}
{{- define "gpushare-webhook.policyCondition" -}}
{{- $condition := .condition -}}
{{- $names := include "gpushare-webhook.resourceNames" .root | fromJsonArray | sortAlpha | toJson -}}
{{- $expressions := include "gpushare-webhook.policyData" .root | fromJson -}}
{{- range $name, $expression := merge (dict "gpus" (printf "dyn(%s)" $names) "parameters" .parameters) $expressions -}}
{{- $condition = replace (printf "variables.%s" $name) $expression $condition -}}
{{- end -}}
{{- $condition -}}
{{- end -}}
