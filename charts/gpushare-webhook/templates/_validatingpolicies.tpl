{{/* ValidatingAdmissionPolicies and their bindings, as webhook/inprocess/policies.py makes them. */}}

{{/* The policies, in JSON: their names, and the `spec` and `binding` of each. */}}
{{- define "gpushare-webhook.validatingPolicies" -}}
{{- $root := . -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $fixed := .Files.Get "files/policies.json" | fromJson -}}
{{- $rules := list -}}
{{- range $fixed.kinds -}}
{{- if or (not .preset) (has "all" $settings.workloads.presets) (has .preset $settings.workloads.presets) }}{{ $rules = append $rules .rule }}{{ end -}}
{{- end -}}
{{- $binding := dict "matchResources" (include "gpushare-webhook.policyMatch" (dict "root" . "selector" .Values.webhooks.validating.namespaceSelector) | fromYaml) "paramRef" (include "gpushare-webhook.paramRef" . | fromYaml) -}}
{{- $actions := dict "deny" "Deny" "warn" "Warn" "audit" "Audit" -}}
{{- $policies := list -}}
{{- range $rule := $fixed.validating.rules -}}
{{- if not (include "gpushare-webhook.leftToWebhook" (dict "settings" $settings "rule" $rule)) -}}
{{- $severities := include "gpushare-webhook.severities" (dict "settings" $settings "rule" $rule) | fromJsonArray -}}
{{- $guards := include "gpushare-webhook.factsWanted" (dict "settings" $settings "rule" $rule "facts" $fixed.validating.facts) -}}
{{- range $place, $severity := include "gpushare-webhook.wantedSeverities" $severities | fromJsonArray -}}
{{- if or (not $guards) (eq $severity "deny") -}}
{{- $suffix := $place | empty | ternary "" (printf "-%s" $severity) -}}
{{- $parts := get $rule ($guards | empty | ternary (eq $severity "deny" | ternary "deny" "others") "byFacts") -}}
{{- $conditions := append (concat (list $fixed.validating.mode) ($parts.conditions | default list)) $fixed.mirror -}}
{{- if gt (len (uniq $severities)) 1 -}}
{{- $conditions = append $conditions (include "gpushare-webhook.namespaceCondition" (dict "firstMatch" $fixed.firstMatch "name" "severity" "namespaces" $settings.namespaces "values" $severities "value" $severity) | fromJson) -}}
{{- end -}}
{{- $conditions = append $conditions (dict "name" "may-violate" "expression" (include "gpushare-webhook.gate" (dict "root" $root "settings" $settings "gate" $rule.gate))) -}}
{{- $spec := dict "failurePolicy" "Fail" "paramKind" $fixed.paramKind "matchConstraints" (dict "resourceRules" $rules) -}}
{{- $_ := set $spec "matchConditions" (concat $conditions ($root.Values.webhooks.matchConditions | default list)) -}}
{{- $_ := set $spec "variables" (include "gpushare-webhook.policyVariables" (dict "root" $root "policy" $parts "shared" $fixed.validating.variables "limits" ($guards | empty | ternary "" $fixed.validating.limits)) | fromJsonArray) -}}
{{- $_ := set $spec "validations" (list $parts.validation) -}}
{{- $_ := set $spec "auditAnnotations" (list (set (deepCopy $fixed.validating.auditAnnotation) "valueExpression" (printf $fixed.validating.auditAnnotation.valueExpression $rule.code $severity))) -}}
{{- $policies = append $policies (dict "name" (printf "%s%s" (lower $rule.code) $suffix) "spec" $spec "binding" (set (deepCopy $binding) "validationActions" (list (get $actions $severity)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $policies -}}
{{- end -}}

{{/*
The setting that makes the webhook read facts on which a rule depends, so that its policy is only a guard. Empty without one.
Takes the settings, the rule and the paths of `facts`.
*/}}
{{- define "gpushare-webhook.factsWanted" -}}
{{- if .rule.byFacts }}{{ include "gpushare-webhook.firstSet" (dict "in" .settings "paths" .facts) }}{{ end -}}
{{- end -}}

{{/* The condition that an object may have a violation, with the data that stands for the words between `@`. Takes the root, the settings and the `gate`. */}}
{{- define "gpushare-webhook.gate" -}}
{{- $pipes := dict -}}
{{- $paths := dict -}}
{{- range .settings.resources -}}
{{- if eq .kind "shared" -}}
{{- $pipe := include "gpushare-webhook.pipe" (dict "injections" $.settings.injections "resource" .name) | fromJson -}}
{{- $_ := set $pipes $pipe.path $pipe.host -}}
{{- $_ := set $paths .name $pipe.path -}}
{{- end -}}
{{- end -}}
{{- $gpus := include "gpushare-webhook.resourceNames" .root | fromJsonArray | sortAlpha | toJson -}}
{{- .gate | replace "@gpus@" $gpus | replace "@pipes@" (toJson $pipes) | replace "@paths@" (toJson $paths) | replace "@hostIPC@" (toString .settings.users.hostIPC | toJson) -}}
{{- end -}}

{{/* The severities of a code in JSON: in namespaces that no rule of `namespaces` names, and by rule. Takes the settings and the rule of the code. */}}
{{- define "gpushare-webhook.severities" -}}
{{- $severities := list (include "gpushare-webhook.severity" (dict "rule" .rule "named" .settings.severities "mode" .settings.mode)) -}}
{{- range .settings.namespaces -}}
{{- $named := deepCopy $.settings.severities -}}
{{- range $code, $severity := .severities }}{{ $_ := set $named $code $severity }}{{ end -}}
{{- $severities = append $severities (include "gpushare-webhook.severity" (dict "rule" $.rule "named" $named "mode" (.mode | default $.settings.mode))) -}}
{{- end -}}
{{- toJson $severities -}}
{{- end -}}

{{/* The severity of a code, capped by a mode. YAML reads `off` as false. Takes the `rule`, the `named` severities and the `mode`. */}}
{{- define "gpushare-webhook.severity" -}}
{{- $severity := hasKey .named .rule.code | ternary (get .named .rule.code | default "off") .rule.severity -}}
{{- $cap := get (dict "enforce" "deny" "warn" "warn" "audit" "audit") .mode -}}
{{- $capped := "" -}}
{{- range list "off" "audit" "warn" "deny" }}{{ if and (empty $capped) (has . (list $severity $cap)) }}{{ $capped = . }}{{ end }}{{ end -}}
{{- $capped -}}
{{- end -}}

{{/* The severities that need a policy each, in JSON, the highest first. */}}
{{- define "gpushare-webhook.wantedSeverities" -}}
{{- $wanted := list -}}
{{- range $severity := list "deny" "warn" "audit" }}{{ if has $severity $ }}{{ $wanted = append $wanted $severity }}{{ end }}{{ end -}}
{{- toJson $wanted -}}
{{- end -}}

{{/*
The reason why a code is left to the webhook: the setting that CEL cannot express. Empty if policies decide the code. Takes
the settings and the rule of the code.
*/}}
{{- define "gpushare-webhook.leftToWebhook" -}}
{{- with include "gpushare-webhook.firstSet" (dict "in" .settings "paths" .rule.unless) -}}
config.{{ . }}
{{- else -}}
{{- if and (include "gpushare-webhook.selectsNamespaces" .settings) (gt (include "gpushare-webhook.severities" . | fromJsonArray | uniq | len) 1) -}}
config.namespaces[].selector
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The condition that the first matching rule of `namespaces` gives a value, in JSON. Takes `firstMatch` with the expression,
the `name` of the condition, `namespaces`, the `values` (of other namespaces, and by rule) and the wanted `value`.
*/}}
{{- define "gpushare-webhook.namespaceCondition" -}}
{{- $listed := list -}}
{{- range $place, $rule := .namespaces -}}
{{- $row := list (index $.values (add1 $place | int)) -}}
{{- range $rule.names }}{{ $row = append $row (printf "^%s$" (replace "*" ".*" .)) }}{{ end -}}
{{- $listed = append $listed $row -}}
{{- end -}}
{{- $expression := printf .firstMatch (toJson $listed) (toJson (first .values)) (toJson .value) -}}
{{- dict "name" .name "expression" $expression | toJson -}}
{{- end -}}

{{/* The codes that deny and that no policy enforces, with the setting that leaves one to the webhook, as a list in JSON. */}}
{{- define "gpushare-webhook.uncovered" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $validating := (.Files.Get "files/policies.json" | fromJson).validating -}}
{{- $uncovered := list -}}
{{- range $rule := $validating.rules -}}
{{- $of := dict "settings" $settings "rule" $rule -}}
{{- if has "deny" (include "gpushare-webhook.severities" $of | fromJsonArray) -}}
{{- with include "gpushare-webhook.leftToWebhook" $of }}{{ $uncovered = append $uncovered (printf "%s (%s)" $rule.code .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $check := $validating.unexpressed -}}
{{- $applies := or (not $check.needs) (include "gpushare-webhook.isSet" (dict "in" $settings "path" $check.needs)) -}}
{{- if and $applies (has "deny" (include "gpushare-webhook.severities" (dict "settings" $settings "rule" $check) | fromJsonArray)) -}}
{{- $uncovered = append $uncovered $check.code -}}
{{- end -}}
{{- end -}}
{{- toJson $uncovered -}}
{{- end -}}

{{/* The codes that policies only deny where parameters show that all GPU nodes share through MPS, each with the setting, as a list in JSON. */}}
{{- define "gpushare-webhook.guarded" -}}
{{- $settings := include "gpushare-webhook.settings" . | fromJson -}}
{{- $validating := (.Files.Get "files/policies.json" | fromJson).validating -}}
{{- $guarded := list -}}
{{- range $rule := $validating.rules -}}
{{- $of := dict "settings" $settings "rule" $rule "facts" $validating.facts -}}
{{- if and (has "deny" (include "gpushare-webhook.severities" $of | fromJsonArray)) (not (include "gpushare-webhook.leftToWebhook" $of)) -}}
{{- with include "gpushare-webhook.factsWanted" $of }}{{ $guarded = append $guarded (printf "%s (config.%s)" $rule.code .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $guarded -}}
{{- end -}}
