"""GPS009: the pod's use of host namespaces does not suit MPS."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import message, record, text
from webhook.inprocess.landing import LANDING_PODS, candidates
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule


def _has(field: str, value: str) -> str:
    return f"one.spec[?{text(field)}].orValue(dyn(null)) == {value}"


_REQUIRED = f"variables.options.hostIPC == 'required' && !({_has('hostIPC', 'true')})"
_NEEDLESS = f"variables.options.hostIPC == 'false' && {_has('hostIPC', 'true')}"


def _violation(message: str, remedy: str) -> str:
    return f"[{record(message=text(message), remedy=text(remedy))}]"


_CASES = {
    _has("hostUsers", "false"): (
        "hostUsers: false makes each pod a different MPS user, so pods wait for each other",
        "omit hostUsers",
    ),
    _REQUIRED: ("hostIPC: true is missing, which MPS clients need in this cluster", "set hostIPC: true"),
    _NEEDLESS: ("hostIPC: true is not needed for MPS and exposes the host's shared memory", "omit hostIPC"),
    _has("hostPID", "true"): ("hostPID: true is for the MPS control daemon, not for its clients", "omit hostPID"),
}
_VIOLATIONS = " + ".join(f"({condition} ? {_violation(*texts)} : [])" for condition, texts in _CASES.items())

RULE = Rule(
    "GPS009",
    f"{LANDING_PODS}.map(one, {_VIOLATIONS}).flatten()",
    message("{message}", message="violation.message"),
    "violation.remedy",
    gates.NAMESPACES,
    LANDING,
    variables=candidates(" || ".join(_CASES)),
    if_all_share=IfAllShare(),
)
