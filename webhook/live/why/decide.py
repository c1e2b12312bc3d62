"""Decides: the groups of causes in the order of what to do first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from webhook.live.why import admission, crashing, creation, ending, queues, running, scheduling, starting
from webhook.live.why.case import Case
from webhook.live.why.cause import Cause, Why
from webhook.live.why.pod_state import state
from webhook.live.why.reading import is_true
from webhook.live.why.workload import has_all, ready, wanted

GROUPS: Final[tuple[Callable[[Case], Iterator[Cause]], ...]] = (
    queues.causes,
    creation.causes,
    admission.causes,
    ending.lost,
    scheduling.causes,
    starting.causes,
    ending.causes,
    crashing.causes,
    running.causes,
)
"""The groups. What keeps pods from existing comes before what keeps them from running, and that before the rest."""


def why(case: Case) -> Why:
    """Return the causes, each once, or that nothing is wrong."""
    found: dict[str, Cause] = {}
    for group in GROUPS:
        for cause in group(case):
            found.setdefault(cause.cause, cause)
    return Why(case.of, _state(case), tuple(found.values()) or (ending.nothing_wrong(case),))


def _state(case: Case) -> str:
    """The state of the object: that of a pod, or how many pods of a workload are ready."""
    kind = case.of.kind
    if kind == "Pod":
        return state(case.found)
    if kind in ("Job", "CronJob"):
        ended = next((one for one in ("Complete", "Failed", "Suspended") if is_true(case.found, one)), "")
        return ended or (state(case.pod) if case.pod is not None else "without a pod")
    if has_all(kind, case.found) and wanted(kind, case.found):
        return "Ready"
    return f"{ready(kind, case.found)} of {wanted(kind, case.found)} ready"
