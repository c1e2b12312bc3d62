"""What the validating hook would say to the creation of a live object, in one world or in several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from webhook.cluster.objects import Object
from webhook.diagnose.audit.created import OwnEdits, created
from webhook.diagnostics import dotted
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.messages import printable
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import DECISIONS, Decision, Finding, Verdict
from webhook.policy.workloads.kinds import is_pod

UNMUTATED: Final = "GPS019"
"""The check that reports missing edits of the mutating hook, which tells nothing about an object that exists."""

_MIRROR: Final = "kubernetes.io/config.mirror"


class Outcome(NamedTuple):
    """The verdict about an object. `omitted` counts findings that are not listed, by code. `reason` says why the object
    is exempt. `problem`: why it cannot be checked.
    """

    decision: Decision
    findings: tuple[Finding, ...] = ()
    omitted: tuple[tuple[str, int], ...] = ()
    reason: str = ""
    problem: str = ""

    @property
    def label(self) -> str:
        """The word for the decision. An object that cannot be checked is an error."""
        return "error" if self.problem else self.decision.label


ALLOWED: Final = Outcome(Decision.ALLOWED)
"""The outcome for most objects, kept once."""


def outcome(verdict: Verdict) -> Outcome:
    """The outcome of a verdict, without the report of missing edits."""
    severities = [severity for (code, severity), count in verdict.counts.items() if code != UNMUTATED and count]
    decision = DECISIONS[max(severities)] if severities else Decision.ALLOWED
    findings = tuple(finding for finding in verdict.findings if finding.code != UNMUTATED)
    omitted = tuple((code, count) for code, count in verdict.omitted().items() if code != UNMUTATED)
    if not findings and not verdict.reason:
        return ALLOWED
    return Outcome(decision, findings, omitted, verdict.reason)


def enforcing(settings: Settings) -> Settings:
    """The settings in the mode `enforce`, and without the modes of namespaces, which could be lower."""
    rules = tuple(replace(rule, mode=None) for rule in settings.namespaces)
    return replace(settings, mode="enforce", namespaces=rules)


class Auditor:
    """Checks live objects in one or more worlds: settings and facts.

    The edits of the webhook are those of the first world, which is the one that made them.
    """

    def __init__(self, worlds: Sequence[OfflineEvaluator]) -> None:
        self.worlds = worlds
        self.evaluator = worlds[0]
        self._own = OwnEdits(worlds[0].snapshot)

    def outcomes(self, found: Object, group: str, api_version: str, kind: str) -> tuple[Outcome, ...]:
        """The outcome for an object in each world."""
        is_one = is_pod(group, kind)
        made = self._own.created(found) if is_one else created(found, api_version, kind)
        metadata = found.get("metadata") or {}
        groups = ("system:nodes",) if is_one and is_mirror(found) else ()
        origin = RequestContext(metadata.get("namespace", ""), is_final_hook=True, groups=groups)
        found_outcomes = []
        for evaluator in self.worlds:
            try:
                found_outcomes.append(outcome(evaluator.evaluate(made, group, kind, origin)))
            except MalformedError as error:
                field = printable(dotted(error.path))
                problem = f"{field}: {error}" if field else str(error)
                found_outcomes.append(Outcome(Decision.ALLOWED, problem=problem))
        return tuple(found_outcomes)


def is_mirror(pod: Object) -> bool:
    """Whether a kubelet made the pod for a static one: only a node may, and it names itself as the owner."""
    metadata = pod.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    return _MIRROR in (metadata.get("annotations") or {}) and any(one.get("kind") == "Node" for one in owners)
