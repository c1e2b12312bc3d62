"""The engine: cases in, one verdict out, in bounded memory however many findings and edits there are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from webhook.policy.context import Origin, PodContext
from webhook.policy.injections import INJECTIONS, STEERING
from webhook.policy.rules import Ruleset, carries
from webhook.policy.verdict import KEPT, MOST_EDITS, UNTOUCHED, Decision, Edit, Finding, Severity, Verdict
from webhook.policy.workloads.kinds import ExtractedPod

_DECISIONS = {Severity.AUDIT: Decision.ALLOWED, Severity.WARN: Decision.WARNED, Severity.DENY: Decision.DENIED}
_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_OS_LABEL = "kubernetes.io/os"


def decide(context: PodContext) -> Verdict:
    """The verdict for a case. Raises MalformedError when the object's structure is not that of its kind."""
    gathered = Gathered()
    gathered.take(context)
    return gathered.verdict()


def judge(held: Iterable[ExtractedPod], origin: Origin, ruleset: Ruleset) -> Verdict:
    """The verdict for an object: the gravest decision, its findings in the order of codes, its edits.

    Raises MalformedError.
    """
    rules = ruleset.of(origin.namespace)
    gathered = Gathered()
    for one in held:
        gathered.take(PodContext(one.pod, origin, rules, ruleset.facts))
    return gathered.verdict()


class Gathered:
    """What the cases of one object lead to."""

    __slots__ = ("counts", "edits", "findings")

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[tuple[str, Severity], int] = {}
        self.edits: list[Edit] = []

    def take(self, context: PodContext) -> None:
        """Check one case. Raises MalformedError."""
        if is_left_alone(context):
            return
        if context.origin.added is None:
            context.edits = _edits(context)
        self.edits.extend(islice(context.edits, MOST_EDITS + 1 - len(self.edits)))
        severities = context.rules.severities
        for check in context.rules.checks_for(context):
            for claim in check.run(context):
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


def _edits(context: PodContext) -> list[Edit]:
    """The edits of a pod, one more than are made at most where there are too many."""
    edits = list(islice(STEERING.run(context), MOST_EDITS + 1))
    if edits:
        context.steer()
    for injection in INJECTIONS if context.pod.is_whole else ():
        edits.extend(islice(injection.run(context), MOST_EDITS + 1 - len(edits)))
    if len(edits) > MOST_EDITS and context.placement.steered:
        context.unsteer()  # none of the edits is made
    return edits


def is_left_alone(context: PodContext) -> bool:
    """Whether the pod is not checked at all: exempt, the kubelet's own, or for Windows."""
    if context.rules.exempt:
        return True
    annotation = context.rules.settings.exempt.annotation
    if annotation is not None and carries(context.pod.annotations, annotation):
        return True
    return _is_mirror(context) or _is_windows(context)


def _is_mirror(context: PodContext) -> bool:
    """The kubelet already runs what a mirror pod shows. Any user can set the annotation, only nodes are believed."""
    if _MIRROR not in context.pod.annotations or not context.origin.itself:
        return False
    return context.origin.groups is None or _NODES in context.origin.groups


def _is_windows(context: PodContext) -> bool:
    if context.pod.members("os").get("name") == "windows":
        return True
    return context.pod.members("nodeSelector").get(_OS_LABEL) == "windows"
