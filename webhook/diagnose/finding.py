"""A finding of `why` and `doctor`: one way to be data, and one to be text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from webhook.diagnose.remedy import Advice, Remedy
from webhook.policy.messages import cut, printable
from webhook.report.lines import hanging

Severity = Literal["error", "warning", "info"]
"""How bad a finding is. `info` says that nothing is wrong."""

_LONGEST: Final = 1024
"""Characters of a text: an Event's message has as many at most."""

_MOST_EVIDENCE: Final = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault: its subject, its cause in one line, what shows it, and the command or the edit that helps.

    `finding` is its name. `namespaces` are those of the objects that show it; empty if objects of the whole cluster do.
    `is_of_tenants`: tenants may use all of them, so that the finding may be forged. Empty evidence is left out. Names
    in the remedy that are not legal follow the evidence.
    """

    finding: str
    severity: Severity
    subject: str
    cause: str
    evidence: Sequence[str]
    remedy: Advice
    namespaces: tuple[str, ...] = ()
    is_of_tenants: bool = False

    def marked(self, administered: Set[str]) -> Finding:
        """The finding as it counts: one that tenants may have forged is a warning, and says where it comes from."""
        if not self.namespaces or not administered.isdisjoint(self.namespaces):
            return self
        return replace(self, severity="warning", is_of_tenants=True)

    def as_data(self) -> dict[str, Any]:
        """Return the fields of a report of `doctor`."""
        remedy, evidence = Remedy(self.remedy), [one for one in self.evidence if one]
        return {
            "finding": self.finding,
            "severity": self.severity,
            "subject": cut(self.subject, _LONGEST),
            "cause": cut(self.cause, _LONGEST),
            "evidence": [cut(one, _LONGEST) for one in (*evidence[:_MOST_EVIDENCE], *remedy.doubts)],
            **remedy.as_data(),
            "inTenantNamespace": self.is_of_tenants,
        }

    def lines(self, head: str, width: int | None, indent: str = "  ", status: str = "") -> Iterator[str]:
        """Yield the lines of text after a head. The name follows the cause, unless a line `status` does."""
        data, name = self.as_data(), "" if status else f" ({self.finding})"
        yield from hanging(head, printable(data["cause"], _LONGEST) + name, width, indent)
        if status:
            yield f"{indent}{status}"
        for one in data["evidence"]:
            yield from hanging(f"{indent}-", printable(one, _LONGEST), width, f"{indent}  ")
        if data["remedy"]:
            yield from Remedy(self.remedy).lines(f"{indent}do:", width, f"{indent}  ")
