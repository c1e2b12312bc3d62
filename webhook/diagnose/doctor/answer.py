"""`doctor`: the findings of all checks, ordered by what to do first, and which checks ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from webhook.cluster.stack import Role
from webhook.diagnose.answer import code
from webhook.diagnose.doctor import installation, nodes, workloads
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.finding import Check, Finding
from webhook.policy.messages import printable
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, hanging, wrapped

CHECKS: tuple[Check, ...] = (
    *installation.CALLS,
    *nodes.STATES,
    *workloads.CLASSES,
    *nodes.CHECKS,
    *workloads.CHECKS,
    *installation.CHECKS,
)
"""All checks in the order in which to act on what they find: what stops all pods first, a cause before what follows."""

_LONGEST = 512
"""Characters of a subject."""

_MOST = 20
"""Findings of one kind that are shown; the others are counted."""


@dataclass(frozen=True, slots=True)
class Doctor:
    """The answer. `checked` has the titles of the checks that ran, and `unchecked` why others did not.

    `further` counts the findings of a kind that are not among `findings`. `assumed` is what nothing confirms.
    """

    kind: ClassVar[str] = "DoctorReport"

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    sound: tuple[str, ...]
    unchecked: tuple[tuple[str, str], ...]
    further: tuple[tuple[str, int], ...] = ()
    assumed: str = ""

    @property
    def count(self) -> int:
        """The number of findings, with those that are not listed."""
        return len(self.findings) + sum(count for _, count in self.further)

    @property
    def errors(self) -> int:
        """The number of findings that are errors."""
        return sum(one.severity == "error" for one in self.findings)

    def exit_code(self, unread: int) -> ExitCode:
        return code(unread, is_bad=self.count > 0)

    def as_data(self) -> dict[str, Any]:
        return {
            "summary": {"findings": self.count, "errors": self.errors, "notChecked": len(self.unchecked)},
            "findings": [one.as_data() for one in self.findings],
            "further": [{"finding": name, "count": count} for name, count in self.further],
            "assumed": printable(self.assumed),
            "checked": list(self.checked),
            "notChecked": [{"what": what, "why": printable(why)} for what, why in self.unchecked],
        }

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        is_well = not self.findings and not unread
        parts = ["nothing wrong found" if is_well else counted(self.count, "finding")]
        parts += [f"{counted(len(self.unchecked), 'check')} left out"] if self.unchecked else []
        parts += [f"{counted(unread, 'part')} of the cluster not read"] if unread else []
        yield ", ".join(parts)
        for number, finding in enumerate(self.findings, 1):
            of_tenants = ", in a namespace that tenants may use" if finding.is_of_tenants else ""
            status = f"{finding.severity}: {finding.finding}{of_tenants}"
            head, indent = f"{number} {printable(finding.subject, _LONGEST)} ", " " * (len(str(number)) + 1)
            yield from finding.lines(head, width, indent, status)
        for name, count in self.further:
            yield f"{count} more: {name}"
        if self.assumed:
            yield from hanging("assumed:", printable(self.assumed), width, "  ")
        if self.sound:
            yield from wrapped(f"checked, and found well: {', '.join(self.sound)}", width, "", 1)
        for what, why in self.unchecked:
            yield from hanging(f"not checked: {what}:", printable(why), width, "  ")


def examine(seen: Seen) -> Doctor:
    """Run the checks for which enough of the cluster could be read."""
    found: list[Finding] = []
    checked, sound, unchecked = [], [], []
    for check in CHECKS:
        if lacking := dict.fromkeys(seen.lacking[part] for part in check.needs if part in seen.lacking):
            unchecked.append((check.title, "; ".join(lacking)))
            continue
        own = [one.marked(seen.trust.administered) for one in check.run(seen)]
        checked.append(check.title)
        sound += [] if own else [check.title]
        found += own
    found.sort(key=lambda one: (one.severity != "error", one.is_of_tenants))
    counts: Counter[str] = Counter()
    shown = []
    for one in found:
        counts[one.finding] += 1
        shown += [one] if counts[one.finding] <= _MOST else []
    further = tuple((name, count - _MOST) for name, count in counts.items() if count > _MOST)
    presumed = next((str(one) for one in seen.of(Role.PLUGIN) if one.namespace == seen.trust.presumed), "")
    assumed = presumed and (
        f"DaemonSet {presumed} is the device plugin, though tenants may use its namespace; name it with "
        f"--device-plugin-daemonset {presumed}"
    )
    return Doctor(tuple(shown), tuple(checked), tuple(sound), tuple(unchecked), further, assumed)
