"""A finding of `doctor`, and a check that yields some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webhook.policy.messages import printable

if TYPE_CHECKING:
    from webhook.live.doctor.seen import Part, Seen

Severity = Literal["error", "warning"]

_SHOWN = 10
"""Names that a list shows; all are counted."""

_LONGEST = 512
"""Characters of a line of evidence, which may quote a message of the kubelet."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault: its subject, its cause in one line, what shows it, and the command or the edit that helps."""

    finding: str
    severity: Severity
    subject: str
    cause: str
    evidence: tuple[str, ...]
    remedy: str

    def as_data(self) -> dict[str, Any]:
        return {
            "finding": self.finding,
            "severity": self.severity,
            "subject": printable(self.subject, _LONGEST),
            "cause": printable(self.cause, _LONGEST),
            "evidence": [printable(one, _LONGEST) for one in self.evidence],
            "remedy": printable(self.remedy, _LONGEST),
        }


class Check(NamedTuple):
    """A check of a cluster. `title` names its subject, and `needs` the parts that it cannot run without."""

    title: str
    needs: tuple[Part, ...]
    run: Callable[[Seen], Iterator[Finding]]


def several(names: Sequence[str]) -> str:
    """The first of some names, and how many others there are: the subject of a finding about all of them."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def listed(names: Sequence[str]) -> str:
    """The first names of a list, and how many more it has."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
