{{/*
The rest of a certificate's life, in seconds, at which its renewal is late. Takes the root, and of a self-managed
certificate the `key` of its life in `config.tls` and the `part` of it that is late.
*/}}
{{- define "gpushare-webhook.late" -}}
{{- if eq .root.Values.tls.mode "self-managed" -}}
{{- $life := include "gpushare-webhook.seconds" (get (include "gpushare-webhook.settings" .root | fromJson).tls .key) -}}
{{- div $life .part -}}
{{- else if eq .root.Values.tls.mode "cert-manager" -}}
{{- div (include "gpushare-webhook.seconds" (toString .root.Values.tls.certManager.renewBefore)) 3 -}}
{{- else -}}
604800
{{- end -}}
{{- end -}}

{{/*
The events that a counter of this server counted in the last `minutes`, by default 10. The server exports its counters from
the start, at 0, so that `increase` sees the first event; the second line adds events between the start of the process and its
first scrape. Takes the root, the `counter`, and `labels` to match.
*/}}
{{- define "gpushare-webhook.events" -}}
{{- $minutes := .minutes | default 10 -}}
{{- $of := printf "namespace=%q" (include "gpushare-webhook.namespace" .root) -}}
{{- $series := printf "gpushare_webhook_%s{%s}" .counter (compact (list $of .labels) | join ", ") -}}
increase({{ $series }}[{{ $minutes }}m]) > 0
or {{ $series }} > 0 and on (job, instance) process_start_time_seconds{ {{- $of -}} } > time() - {{ mul $minutes 60 }}
{{- end -}}

{{/*
The events that a counter of the API server or of kube-state-metrics counted in the last ten minutes. Its series may appear
with their first event, at 1, which `increase` does not see. A series that is new counts as a whole if its target was scraped
before, so that the old total of a target that Prometheus begins to scrape does not. Takes the series.
*/}}
{{- define "gpushare-webhook.otherEvents" -}}
({{ . }} unless {{ . }} offset 10m) and on (job, instance) up offset 10m == 1
or increase({{ . }}[10m]) > 0
{{- end -}}

{{/*
The reviews that count each object once: an object that /mutate denies does not reach /validate, and every other one does. Takes
the root, and the `decision`, or none for the reviews of every decision, and a `range` such as `[15m]`.
*/}}
{{- define "gpushare-webhook.objects" -}}
{{- $of := printf "namespace=%q" (include "gpushare-webhook.namespace" .root) -}}
{{- $validated := compact (list $of `hook="validate"` .decision) | join ", " -}}
{{- $denied := printf `%s, hook="mutate", decision="denied"` $of -}}
sum by (namespace) (increase(gpushare_webhook_reviews_total{ {{- $validated -}} }{{ .range }})
{{- if (include "gpushare-webhook.settings" .root | fromJson).denyInMutate }} or increase(gpushare_webhook_reviews_total{ {{- $denied -}} }{{ .range }}){{ end }})
{{- end -}}
