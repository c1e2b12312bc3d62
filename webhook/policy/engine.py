"""The engine: one case in, one verdict out."""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.injections import INJECTIONS, STEERING
from webhook.policy.rules import carries
from webhook.policy.verdict import UNTOUCHED, Decision, Finding, Severity, Verdict

_DECISIONS = {Severity.AUDIT: Decision.ALLOWED, Severity.WARN: Decision.WARNED, Severity.DENY: Decision.DENIED}
_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_OS_LABEL = "kubernetes.io/os"


def decide(case: Case) -> Verdict:
    """The verdict for a case. Raises MalformedError when the object's structure is not that of its kind."""
    if is_left_alone(case):
        return UNTOUCHED
    if case.origin.added is None:
        _add_edits(case)
    findings = _findings(case)
    if not findings:
        return Verdict(Decision.ALLOWED, (), tuple(case.edits))
    decision = _DECISIONS[max(finding.severity for finding in findings)]
    return Verdict(decision, tuple(findings), tuple(case.edits))


def _add_edits(case: Case) -> None:
    edits = case.edits = list(STEERING.run(case))
    if edits:
        case.placement.steer()
        case.look_where_mps()
    for injection in INJECTIONS if case.pod.is_whole else ():
        edits.extend(injection.run(case))


def is_left_alone(case: Case) -> bool:
    """Whether the pod is none of our business: exempt, the kubelet's own, or for Windows."""
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


def _findings(case: Case) -> list[Finding]:
    findings = []
    severities = case.rules.severities
    for check in case.rules.checks_for(case):
        for claim in check.run(case):
            severity = min(severities[check.code], claim.cap)
            findings.append(Finding(check.code, severity, claim.path, claim.message, claim.remedy))
    return findings
