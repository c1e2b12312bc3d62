"""Decides: the groups of causes in the order of what to do first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from webhook.cluster.reading import condition, is_true, number, word
from webhook.diagnose.finding import Finding
from webhook.diagnose.why import crashing, creation, running, scheduling, starting
from webhook.diagnose.why.case import Case, Why
from webhook.diagnose.why.state import has_all, ready, state, wanted

GROUPS: Final[tuple[Callable[[Case], Iterator[Finding]], ...]] = (
    creation.waiting,
    creation.refused,
    starting.rejected,
    running.lost,
    scheduling.causes,
    starting.causes,
    running.ended,
    crashing.causes,
    running.without_mps,
)
"""The groups. What keeps pods from existing comes before what keeps them from running, and that before the rest."""


def why(case: Case) -> Why:
    """Return the causes, each once, or that nothing is wrong."""
    found: dict[str, Finding] = {}
    for group in GROUPS:
        for cause in group(case):
            found.setdefault(cause.finding, cause)
    return Why(case.of, _state(case), list(found.values()) or [running.nothing_wrong(case)])


def _state(case: Case) -> str:
    """The state of the object: that of a pod, or how many pods of a workload are ready."""
    kind = case.of.kind
    if kind == "Pod":
        return state(case.found)
    if kind in ("Job", "CronJob"):
        ended = next((one for one in ("Complete", "Failed", "Suspended") if is_true(case.found, one)), "")
        return ended or (state(case.pod) if case.pod else "without a pod")
    wants, progress = wanted(kind, case.found), word(condition(case.found, "Progressing"), "reason")
    updated = number(case.found, "status", "updatedReplicas", default=wants)
    if kind == "Deployment" and updated < wants:
        return f"rolling out, {updated} of {wants} updated"
    if progress in ("ProgressDeadlineExceeded", "ReplicaSetCreateError"):
        return f"rolling out, and {progress}"
    if wants and has_all(kind, case.found):
        return "Ready"
    return f"{ready(kind, case.found)} of {wants} ready"
