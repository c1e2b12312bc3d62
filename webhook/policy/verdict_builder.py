"""Collects the findings and edits of one object, and builds its verdict. Memory is bounded, however many there are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from webhook.policy.checks.check import Check
from webhook.policy.context import PodContext
from webhook.policy.object_context import ObjectContext
from webhook.policy.rules import Rules
from webhook.policy.suppression import suppressed_codes
from webhook.policy.verdict import (
    DECISIONS,
    KEPT_PER_CODE,
    MOST_EDITS,
    NOTHING_SUPPRESSED,
    UNTOUCHED,
    Decision,
    Edit,
    Finding,
    Path,
    Severity,
    Suppressed,
    Verdict,
    Violation,
)


class VerdictBuilder:
    """Collects the findings and edits of the pods of one object."""

    __slots__ = (
        "counts",
        "edits",
        "findings",
        "reason",
        "suppressed",
        "users",
        "withheld",
    )

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[tuple[str, Severity], int] = {}
        self.suppressed: _Suppressed | None = None
        self.edits: list[Edit] = []
        self.reason = ""
        self.withheld: dict[str, str] = {}
        self.users: list[tuple[int, Path]] = []

    def add_edits(self, edits: Iterable[Edit]) -> None:
        """Collect edits, at most one more than an object may get."""
        self.edits.extend(islice(edits, MOST_EDITS + 1 - len(self.edits)))

    def run(self, checks: Iterable[Check[PodContext]], context: PodContext, cap: Severity = Severity.DENY) -> None:
        """Run the checks of a pod and collect their findings, of a severity up to the cap. Raises MalformedError."""
        severities = context.rules.severities
        suppressed = () if context.rules.suppressing_annotation is None else suppressed_codes(context)
        for check in checks:
            for violation in check.run(context):
                severity = min(severities[check.code], violation.cap, cap)
                if check.code in suppressed:
                    self._suppress(check.code, severity, violation)
                else:
                    self._add(check.code, severity, violation)

    def run_on_object(self, checks: Iterable[Check[ObjectContext]], context: ObjectContext, rules: Rules) -> None:
        """Run the checks of an object and collect their findings."""
        for check in checks:
            if check.code in rules.active:
                for violation in check.run(context):
                    self._add(check.code, min(rules.severities[check.code], violation.cap), violation)

    def _add(self, code: str, severity: Severity, violation: Violation) -> None:
        counted = code, severity
        self.counts[counted] = self.counts.get(counted, 0) + 1
        _keep(self.findings, code, severity, violation)

    def _suppress(self, code: str, severity: Severity, violation: Violation) -> None:
        if self.suppressed is None:
            self.suppressed = _Suppressed()
        self.suppressed.add(code, severity, violation)

    def build(self) -> Verdict:
        if not (self.counts or self.edits or self.reason or self.withheld or self.users or self.suppressed):
            return UNTOUCHED
        too_many = len(self.edits) > MOST_EDITS
        return Verdict(
            DECISIONS[max(severity for _, severity in self.counts)] if self.counts else Decision.ALLOWED,
            _in_order(self.findings),
            () if too_many else tuple(self.edits),
            self.counts,
            too_many,
            self.reason,
            tuple(self.withheld.items()),
            tuple(self.users),
            suppressed=self.suppressed.build() if self.suppressed else NOTHING_SUPPRESSED,
        )


class _Suppressed:
    """Collects the findings that annotations suppress."""

    __slots__ = ("counts", "findings")

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[str, int] = {}

    def add(self, code: str, severity: Severity, violation: Violation) -> None:
        self.counts[code] = self.counts.get(code, 0) + 1
        _keep(self.findings, code, severity, violation)

    def build(self) -> Suppressed:
        return Suppressed(_in_order(self.findings), self.counts)


def _keep(kept: dict[str, list[Finding]], code: str, severity: Severity, violation: Violation) -> None:
    """Keep a violation if there is room, or in place of the last one that is less severe.

    Otherwise a pod with enough warnings would be denied without a reason.
    """
    of_code = kept.setdefault(code, [])
    if len(of_code) == KEPT_PER_CODE:
        weaker = [index for index, one in enumerate(of_code) if one.severity < severity]
        if not weaker:
            return
        del of_code[weaker[-1]]
    message = str(violation.message)
    of_code.append(Finding(code, severity, violation.path, message, violation.remedy, violation.fix))


def _in_order(kept: dict[str, list[Finding]]) -> tuple[Finding, ...]:
    return tuple(finding for code in sorted(kept) for finding in kept[code])
