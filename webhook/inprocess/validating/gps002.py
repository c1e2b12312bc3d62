"""GPS002: the pod as a whole requests more replicas than its limit."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import let, message, record, text
from webhook.inprocess.landing import IS_FIRST, LANDING_PODS, candidates
from webhook.inprocess.pods import amount_text
from webhook.inprocess.validating.remedies import whole_cards
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule
from webhook.policy.pods.pod import INIT, SIDECAR

_LIMIT = "double(variables.limits.pod) + 0.0000000005"
"""The limit with half a billionth: sums of fractions are not exact. Kubernetes keeps billionths."""

_MAY_EXCEED = (
    "variables.limits.pod >= 0 && one.requests.filter(each, each.name in variables.shared)"
    f".map(each, double(each.amount)).sum() > {_LIMIT}"
)

_OF_CONTAINER = let(
    "amount",
    "one.requests.slice(place, [place + variables.shared.size(), one.requests.size()].min())"
    ".filter(other, other.place == each.place).map(other, double(other.amount)).sum()",
    "variables.limits.container >= 0 && amount > double(variables.limits.container) ? "
    "double(variables.limits.container) : amount",
)
"""The replicas of a container from its first request on, capped at its limit. It has one request for each resource."""

_SIDECARS_BEFORE = (
    "sidecars.filter(sidecar, sidecar.place < container.place).map(sidecar, double(sidecar.amount)).sum()"
)
_PEAK = let(
    "sidecars",
    f"containers.filter(container, container.kind == {text(SIDECAR)})",
    f"([containers.filter(container, container.kind != {text(INIT)}).map(container, double(container.amount)).sum()] + "
    f"containers.filter(container, container.kind == {text(INIT)})"
    f".map(container, double(container.amount) + {_SIDECARS_BEFORE})).max()",
)
"""The highest amount in use at any time, as `PeakRequest` counts it."""

_REPLICAS = let(
    "containers",
    f"one.requests.transformList(place, each, {IS_FIRST}, "
    f"{record(place='place', kind='each.kind', amount=_OF_CONTAINER)})",
    _PEAK,
)

_VIOLATIONS = (
    f"{LANDING_PODS}.map(one, {record(pod='one', replicas=_REPLICAS)}).filter(violation, violation.replicas > {_LIMIT})"
)

_SPLIT = "'split the pod, or ask the administrator to raise limits.perPod'"
_LAST = "violation.pod.requests[violation.pod.requests.size() - 1].name"

RULE = Rule(
    "GPS002",
    _VIOLATIONS,
    message(
        "the pod asks for {amount} replicas as a whole; the limit is {limit} where GPUs are shared through MPS",
        amount=amount_text("violation.replicas"),
        limit="string(variables.limits.pod)",
    ),
    f"{_SPLIT} + (violation.pod.requests.exists(each, each.name in variables.renamed) ? '' : "
    f"{whole_cards('violation.pod', _LAST)})",
    gates.SUM,
    (*LANDING, "limits.mpsMayAcceptMore"),
    variables=candidates(_MAY_EXCEED),
    if_all_share=IfAllShare(remedy=_SPLIT),
)
