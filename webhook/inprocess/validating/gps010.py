"""GPS010: a container requests two shared resources."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import message, record
from webhook.inprocess.landing import LANDING_PODS, candidates
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule

_SAME = "one.requests[place - 1].place == one.requests[place].place"
_SEVERAL = f"lists.range(one.requests.size()).exists(place, place > 0 && {_SAME})"
_IS_SECOND = f"place > 0 && {_SAME} && (place == 1 || one.requests[place - 2].place != each.place)"

RULE = Rule(
    "GPS010",
    f"{LANDING_PODS}.map(one, one.requests.transformList(place, each, {_IS_SECOND}, "
    f"{record(request='each', first='one.requests[place - 1].name')})).flatten()",
    message(
        "{kind} {} asks for both {} and {}; it can use only one pipe directory",
        ["violation.request.label", "violation.first", "violation.request.name"],
        kind="violation.request.kind",
    ),
    "'ask for one of them, or use two pods'",
    gates.TWO,
    LANDING,
    variables=candidates(_SEVERAL),
    if_all_share=IfAllShare(),
)
