"""GPS015: the pod is killed without a grace period."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import message
from webhook.inprocess.landing import LANDING_PODS, candidates
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule

_FIELD = "terminationGracePeriodSeconds"

RULE = Rule(
    "GPS015",
    LANDING_PODS,
    message(f"{_FIELD}: 0 kills the MPS client, which can crash other clients of the GPU"),
    "'omit it, or set it to a few seconds or more'",
    gates.GRACE,
    LANDING,
    variables=candidates(f"one.spec[?'{_FIELD}'].orValue(dyn(null)) == 0"),
    if_all_share=IfAllShare(),
)
