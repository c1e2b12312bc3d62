"""What every answer consists of: its parts as data, its lines as text, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from webhook.cluster.objects import LeftOut
from webhook.policy.messages import printable
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, hanging

API_VERSION = "gpushare-webhook/v1"

_LONGEST = 1024
"""Characters of a message of the API server that are shown: a missing rule is about 200."""


class Answer(Protocol):
    """The answer to a question."""

    kind: ClassVar[str]

    def as_data(self) -> dict[str, Any]:
        """Return the fields of the report, for JSON and YAML."""

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        """Yield the lines of text, each of at most `width` columns where the text can be broken.

        `unread` counts the parts of the cluster that could not be read. With some, no line says that all is well.
        """

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code of a command with this answer."""


def unread(left_out: Iterable[LeftOut]) -> int:
    """How many parts could not be read with which the answer might be another one."""
    return sum(one.matters for one in left_out)


def code(unread: int, *, is_bad: bool = False) -> ExitCode:
    """The exit code of an answer: what could not be read precedes what is bad."""
    return ExitCode.WRONG_INPUT if unread else ExitCode.DENIED if is_bad else ExitCode.OK


def lines_of_unread(unread: int, width: int | None) -> Iterator[str]:
    """Yield what an answer says of itself where parts could not be read."""
    if unread:
        said = f"{counted(unread, 'part')} of the cluster could not be read, which may change this answer"
        yield from hanging("incomplete:", said, width, "  ")


def report(answer: Answer, left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """Return the report of an answer, as JSON and YAML hold it."""
    return {
        "apiVersion": API_VERSION,
        "kind": answer.kind,
        **answer.as_data(),
        "unread": unread(left_out),
        "leftOut": [{"what": one.what, "why": one.why} for one in left_out],
    }


def lines_of_left_out(left_out: Iterable[LeftOut], width: int | None) -> Iterator[str]:
    """Yield what could not be read, and why."""
    for one in left_out:
        head, why = printable(one.what, _LONGEST), printable(one.why, _LONGEST)
        yield from hanging(f"not read: {head}:", why, width, "  ")
