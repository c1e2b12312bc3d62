"""A cause with its evidence and remedy, and the answer that lists causes in the order of what to do first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.remedy import Advice, Remedy
from webhook.policy.messages import cut, printable
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import hanging

_LONGEST: Final = 1024
"""Characters of a line of an answer: an Event's message has as many at most."""

_MOST_EVIDENCE: Final = 12

_WELL: Final = frozenset({"nothing-wrong", "completed"})
"""The causes that say that nothing is wrong."""


class Reference(NamedTuple):
    """The object of a question."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.lower()} {where}"


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. `cause` is its name, `remedy` the command or edit that helps; empty where nothing is to do.

    Names in it that are not legal follow the evidence. Empty evidence is left out.
    """

    cause: str
    summary: str
    evidence: Sequence[str] = ()
    remedy: Advice = ""

    def as_data(self) -> dict[str, Any]:
        remedy, evidence = Remedy(self.remedy), [one for one in self.evidence if one]
        return {
            "cause": self.cause,
            "summary": cut(self.summary, _LONGEST),
            "evidence": [cut(one, _LONGEST) for one in (*evidence[:_MOST_EVIDENCE], *remedy.doubts)],
            **remedy.as_data(),
        }


@dataclass(frozen=True, slots=True)
class Why:
    """The answer: at least one cause."""

    kind: ClassVar[str] = "WhyReport"

    of: Reference
    state: str
    causes: Sequence[Cause]

    def as_data(self) -> dict[str, Any]:
        return {
            "object": {"kind": self.of.kind, "namespace": self.of.namespace, "name": self.of.name},
            "state": self.state,
            "causes": [one.as_data() for one in self.causes],
        }

    @property
    def is_well(self) -> bool:
        """Whether no cause says that something is wrong."""
        return all(one.cause in _WELL for one in self.causes)

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code. A cause is one, whatever else could not be read."""
        return code(unread) if self.is_well else ExitCode.DENIED

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        for index, one in enumerate(self.causes):
            data = one.as_data()
            head = "also:" if index else f"{printable(str(self.of))} is {printable(self.state)}:"
            yield from hanging(head, f"{printable(data['summary'], _LONGEST)} ({one.cause})", width, "  ")
            for each in data["evidence"]:
                yield from hanging("  -", printable(each, _LONGEST), width, "    ")
            if data["remedy"]:
                yield from Remedy(one.remedy).lines("  do:", width, "    ")
        if self.is_well:
            yield from lines_of_unread(unread, width)
