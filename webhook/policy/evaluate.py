"""The evaluator: an object in, one verdict out. The server and the command line use the same one.

Memory is bounded, however many findings and edits an object leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.context import Origin, PodContext
from webhook.policy.exemption import exemption
from webhook.policy.injections import INJECTIONS, STEERING
from webhook.policy.mps_users import mps_users
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.pods.reading import Members
from webhook.policy.rules import Ruleset
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps, finished
from webhook.policy.verdict import (
    DECISIONS,
    KEPT_PER_CODE,
    MOST_EDITS,
    UNTOUCHED,
    Decision,
    Edit,
    Finding,
    Path,
    Severity,
    Verdict,
    Violation,
)
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import Kinds, extract
from webhook.policy.workloads.presets import kinds_with

_DEFAULT_SEVERITIES = {check.code: check.severity for check in CHECKS}


class Evaluator:
    """One snapshot of settings and facts that evaluates objects. Replace it as a whole; read it once per request."""

    __slots__ = ("_checks", "kinds", "ruleset")

    def __init__(self, ruleset: Ruleset, kinds: Kinds) -> None:
        self.ruleset = ruleset
        self.kinds = kinds
        self._checks: dict[tuple[frozenset[str] | bool, ...], tuple[Check, ...]] = {}

    @classmethod
    def of(cls, settings: Settings, facts: Facts = UNKNOWN) -> Evaluator:
        """The evaluator for settings and facts, with all registered checks."""
        return finished(cls.building(settings, facts))

    @classmethod
    def building(cls, settings: Settings, facts: Facts) -> Steps[Evaluator]:
        """The same in steps, for a server that handles requests meanwhile."""
        ruleset = yield from Ruleset.building(settings, facts, _DEFAULT_SEVERITIES)
        return cls(ruleset, kinds_with(settings.workloads))

    def evaluate(self, manifest: Members, group: str, kind: str, origin: Origin) -> Verdict:
        """The verdict for an object. Raises MalformedError, and TooManyPodsError for more than MOST_PODS pods."""
        return self.verdict(self.pods(manifest, group, kind), origin)

    def pods(self, manifest: Members, group: str, kind: str) -> list[ExtractedPod]:
        """The pods of an object; none for a kind that holds no pods. Raises MalformedError and TooManyPodsError."""
        return extract(self.kinds, manifest, group, kind)

    def context(self, extracted: ExtractedPod, origin: Origin) -> PodContext:
        """The context in which a pod is checked. Raises MalformedError."""
        return PodContext(extracted, origin, self.ruleset.of(origin.namespace))

    def verdict(self, pods: Iterable[ExtractedPod], origin: Origin) -> Verdict:
        """The verdict for an object that holds these pods: the most severe decision, and the findings of all pods.

        Raises MalformedError when the structure of a pod is not that of its kind.
        """
        rules = self.ruleset.of(origin.namespace)
        verdict = _VerdictBuilder()
        for extracted in pods:
            context = PodContext(extracted, origin, rules)
            exempt = exemption(context)
            if exempt is not None:
                verdict.reason = exempt
                continue
            if context.deferral is not None:
                verdict.reason = context.deferral.value
            if origin.added_containers is None:
                context.edits = _inject(context, verdict.withheld)
                verdict.add_edits(context.edits)
            verdict.run(self._checks_for(context), context)
            if origin.is_offline:
                verdict.users.extend((user, path) for _, user, path in mps_users(context))
        return verdict.build()

    def _checks_for(self, context: PodContext) -> tuple[Check, ...]:
        """The checks that are active in the namespace and whose scope includes the pod, in the order of their codes.

        The settings bound the sets of active codes, and each occurs with at most 32 combinations of scopes.
        """
        active = context.rules.active
        key = (
            active,
            bool(context.mps_requests),
            bool(context.requests.positive),
            bool(context.requests.named),
            context.expects_edits,
            context.origin.added_containers is None,
        )
        checks = self._checks.get(key)
        if checks is None:
            checks = self._checks[key] = tuple(
                check for check in CHECKS if check.code in active and check.scope.includes(context)
            )
        return checks


class _VerdictBuilder:
    """Collects the findings and edits of the pods of one object."""

    __slots__ = ("counts", "edits", "findings", "reason", "users", "withheld")

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[tuple[str, Severity], int] = {}
        self.edits: list[Edit] = []
        self.reason = ""
        self.withheld: dict[str, str] = {}
        self.users: list[tuple[int, Path]] = []

    def add_edits(self, edits: Iterable[Edit]) -> None:
        """Collect edits, at most one more than an object may get."""
        self.edits.extend(islice(edits, MOST_EDITS + 1 - len(self.edits)))

    def run(self, checks: Iterable[Check], context: PodContext) -> None:
        """Run checks and collect their findings. Raises MalformedError."""
        severities = context.rules.severities
        for check in checks:
            for violation in check.run(context):
                self._add(check.code, min(severities[check.code], violation.cap), violation)

    def _add(self, code: str, severity: Severity, violation: Violation) -> None:
        counted = code, severity
        self.counts[counted] = self.counts.get(counted, 0) + 1
        kept = self.findings.setdefault(code, [])
        if len(kept) < KEPT_PER_CODE:
            kept.append(Finding(code, severity, violation.path, str(violation.message), violation.remedy))

    def build(self) -> Verdict:
        """The verdict for the object."""
        too_many = len(self.edits) > MOST_EDITS
        edits = () if too_many else tuple(self.edits)
        if not (self.counts or edits or too_many or self.reason or self.withheld or self.users):
            return UNTOUCHED
        withheld, users = tuple(self.withheld.items()), tuple(self.users)
        if not self.counts:
            return Verdict(Decision.ALLOWED, (), edits, {}, too_many, self.reason, withheld, users)
        decision = DECISIONS[max(severity for _, severity in self.counts)]
        findings = tuple(finding for code in sorted(self.findings) for finding in self.findings[code])
        return Verdict(decision, findings, edits, self.counts, too_many, self.reason, withheld, users)


def _inject(context: PodContext, withheld: dict[str, str]) -> list[Edit]:
    """The edits of a pod; when there are too many, one more than an object may get. Notes what is withheld, and why."""
    edits = list(_steer(context, withheld))
    for injection in INJECTIONS if context.pod.is_editable else ():
        reason = injection.why_not(context)
        if reason is None:
            edits.extend(islice(injection.edits(context), MOST_EDITS + 1 - len(edits)))
        elif context.requests.positive:
            withheld[injection.name] = reason
    if len(edits) > MOST_EDITS:
        context.leave_as_received()  # none of the edits is made
    return edits


def _steer(context: PodContext, withheld: dict[str, str]) -> Iterable[Edit]:
    """The edits that keep the pod off shared GPUs. From then on the pod is checked as if it were kept off."""
    reason = STEERING.why_not(context)
    if reason is not None:
        if context.requests.positive:
            withheld[STEERING.name] = reason
        return ()
    edits = list(islice(STEERING.edits(context), MOST_EDITS + 1))
    context.steer()
    return edits
