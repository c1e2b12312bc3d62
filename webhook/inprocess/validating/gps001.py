"""GPS001: a container requests more replicas than its limit."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import message, record, text
from webhook.inprocess.landing import lands
from webhook.inprocess.pods import amount_text, is_whole
from webhook.inprocess.validating.remedies import FEWER_REPLICAS, OTHER_SCHEDULER, whole_cards
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule


def _is_over(limit: str) -> str:
    return f"{limit} >= 0 && each.amount > double({limit})"


_CONTAINER, _TIME_SLICING = _is_over("variables.limits.container"), _is_over("variables.limits.timeSlicing")

_OVER = (
    "variables.asking.map(one, "
    + record(
        spec="one.spec",
        requests="one.requests",
        over=f"one.requests.filter(each, each.name in variables.shared && ({_CONTAINER} || {_TIME_SLICING}) && "
        f"{is_whole('each.amount')})",
    )
    + ").filter(one, one.over.size() > 0)"
)


def _excess(limit: str, shared: str) -> str:
    return f"[{record(pod='one', request='each', limit=limit, shared=shared)}]"


_MPS = text("shared through MPS")
_VIOLATIONS = (
    "variables.candidates.transformList(place, one, "
    + record(spec="one.spec", over="one.over", lands="variables.landings[place]")
    + ").map(one, one.over.map(each, "
    f"{_CONTAINER} && {lands('one', 'each.name')} ? "
    f"{_excess('variables.limits.container', _MPS)} : "
    f"{_TIME_SLICING} && {lands('one', 'each.name', time_slicing=True)} ? "
    f"{_excess('variables.limits.timeSlicing', text('time-sliced'))} : [])).flatten(2)"
)

RULE = Rule(
    "GPS001",
    _VIOLATIONS,
    message(
        "{kind} {} asks for {amount} of {}; the limit is {limit} where it is {shared}",
        ["violation.request.label", "violation.request.name"],
        kind="violation.request.kind",
        amount=amount_text("violation.request.amount"),
        limit="string(violation.limit)",
        shared="violation.shared",
    ),
    f"{FEWER_REPLICAS} + {whole_cards('violation.pod', 'violation.request.name')} + {OTHER_SCHEDULER}",
    gates.AMOUNT,
    (*LANDING, "limits.mpsMayAcceptMore"),
    variables={"candidates": _OVER},
    # A pod that MPS nodes can take lands on no time-slicing node. No node has whole cards.
    if_all_share=IfAllShare(f"violation.shared == {_MPS}", f"{FEWER_REPLICAS} + {OTHER_SCHEDULER}"),
)
