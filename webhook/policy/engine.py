"""The engine: cases in, one verdict out, in bounded memory however many findings and edits there are."""

from __future__ import annotations

from itertools import islice

from webhook.policy.case import Case
from webhook.policy.injections import INJECTIONS, STEERING
from webhook.policy.rules import carries
from webhook.policy.verdict import KEPT, MOST_EDITS, UNTOUCHED, Decision, Edit, Finding, Severity, Verdict

_DECISIONS = {Severity.AUDIT: Decision.ALLOWED, Severity.WARN: Decision.WARNED, Severity.DENY: Decision.DENIED}
_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_OS_LABEL = "kubernetes.io/os"


def decide(case: Case) -> Verdict:
    """The verdict for a case. Raises MalformedError when the object's structure is not that of its kind."""
    gathered = Gathered()
    gathered.take(case)
    return gathered.verdict()


class Gathered:
    """What the cases of one object lead to."""

    __slots__ = ("counts", "edits", "findings")

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[tuple[str, Severity], int] = {}
        self.edits: list[Edit] = []

    def take(self, case: Case) -> None:
        """Check one case. Raises MalformedError."""
        if is_left_alone(case):
            return
        if case.origin.added is None:
            case.edits = _edits(case)
        self.edits.extend(islice(case.edits, MOST_EDITS + 1 - len(self.edits)))
        severities = case.rules.severities
        for check in case.rules.checks_for(case):
            for claim in check.run(case):
                severity = min(severities[check.code], claim.cap)
                counted = check.code, severity
                self.counts[counted] = self.counts.get(counted, 0) + 1
                kept = self.findings.setdefault(check.code, [])
                if len(kept) < KEPT:
                    kept.append(Finding(check.code, severity, claim.path, str(claim.message), claim.remedy))

    def verdict(self) -> Verdict:
        """All of it, as one verdict."""
        too_many = len(self.edits) > MOST_EDITS
        edits = () if too_many else tuple(self.edits)
        if not self.counts:
            return Verdict(Decision.ALLOWED, (), edits, {}, too_many) if self.edits else UNTOUCHED
        decision = _DECISIONS[max(severity for _, severity in self.counts)]
        findings = tuple(finding for code in sorted(self.findings) for finding in self.findings[code])
        return Verdict(decision, findings, edits, self.counts, too_many)


def _edits(case: Case) -> list[Edit]:
    """The edits of a pod, one more than are made at most where there are too many."""
    edits = list(islice(STEERING.run(case), MOST_EDITS + 1))
    if edits:
        case.steer()
    for injection in INJECTIONS if case.pod.is_whole else ():
        edits.extend(islice(injection.run(case), MOST_EDITS + 1 - len(edits)))
    if len(edits) > MOST_EDITS and case.placement.steered:
        case.unsteer()  # none of the edits is made
    return edits


def is_left_alone(case: Case) -> bool:
    """Whether the pod is not checked at all: exempt, the kubelet's own, or for Windows."""
    if case.rules.exempt:
        return True
    annotation = case.rules.settings.exempt.annotation
    if annotation is not None and carries(case.pod.annotations, annotation):
        return True
    return _is_mirror(case) or _is_windows(case)


def _is_mirror(case: Case) -> bool:
    """The kubelet already runs what a mirror pod shows. Any user can set the annotation, only nodes are believed."""
    if _MIRROR not in case.pod.annotations or not case.origin.itself:
        return False
    return case.origin.groups is None or _NODES in case.origin.groups


def _is_windows(case: Case) -> bool:
    if case.pod.members("os").get("name") == "windows":
        return True
    return case.pod.members("nodeSelector").get(_OS_LABEL) == "windows"
