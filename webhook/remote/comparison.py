"""The answers of a running webhook beside the findings of the local run."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from webhook.admission import line
from webhook.policy.checks import OBJECT_CHECKS
from webhook.policy.verdict import DECISIONS, Decision, Finding, Path, Severity
from webhook.remote.answer import Answer, Reported
from webhook.report.model import Difference

_ONLY_OFFLINE = frozenset(check.code for check in OBJECT_CHECKS)
"""The checks that no server runs: what they report is no difference."""

_NO_MESSAGE = "the server lists this finding without a message"


Marked = tuple[Finding, Difference | None]
"""A finding, and how server and local run differ about it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The decision of the server, and its findings beside those of the local run, in the order of their codes.

    A finding has the path of the local one that it belongs to; a finding of the server alone has that of its field if
    the answer names it, else that of the object.
    What only the local run reports has no effect in the cluster, so its severity is `audit`.
    """

    decision: Decision
    findings: tuple[Marked, ...]
    omitted: Mapping[str, int]


def compare(answers: Sequence[Answer], local: Sequence[Finding], value: object) -> Compared:
    """Compare the answers of all hooks that an object passed with the findings of the local run. `value` is the object.

    Lines that are equal belong together; of the rest, findings of the same code do, in their order.
    """
    own = [finding for finding in local if finding.code not in _ONLY_OFFLINE]
    only_offline = [finding for finding in local if finding.code in _ONLY_OFFLINE]
    partners, rest = _partners(_combined(answers), own)
    found = [
        _of_both(partners[index], finding)
        if index in partners
        else (replace(finding, severity=Severity.AUDIT), Difference.ONLY_LOCAL)
        for index, finding in enumerate(own)
    ]
    found += [(_of_server(reported, value), Difference.ONLY_SERVER) for reported in rest]
    found += [(finding, None) for finding in only_offline]
    found.sort(key=lambda one: one[0].code)
    omitted: Counter[str] = Counter()
    for answer in answers:
        omitted |= Counter(answer.omitted)
    decision = max([_decision(answers), *(DECISIONS[finding.severity] for finding in only_offline)])
    return Compared(decision, tuple(found), dict(omitted))


def _decision(answers: Iterable[Answer]) -> Decision:
    if any(not answer.allowed for answer in answers):
        return Decision.DENIED
    warns = any(finding.severity is Severity.WARN for answer in answers for finding in answer.findings)
    return Decision.WARNED if warns else Decision.ALLOWED


def _combined(answers: Iterable[Answer]) -> list[Reported]:
    """The findings of all hooks, each once: those of the same code and severity are the same, in their order.

    A mutating hook that allows an object has no line for a finding that denies; the validating one has.
    """
    combined: list[Reported] = []
    for answer in answers:
        known: dict[tuple[str, Severity], deque[int]] = defaultdict(deque)
        for index, finding in enumerate(combined):
            known[finding.code, finding.severity].append(index)
        for finding in answer.findings:
            same = known[finding.code, finding.severity]
            if not same:
                combined.append(finding)
            elif combined[index := same.popleft()].line is None:
                combined[index] = finding
    return combined


def _partners(reported: Sequence[Reported], local: Sequence[Finding]) -> tuple[dict[int, Reported], list[Reported]]:
    """The findings of the server by the index of the local one that each belongs to, and those that belong to none."""
    partners: dict[int, Reported] = {}
    rest = _paired(
        partners,
        ((one, (one.code, one.severity, one.line)) for one in reported),
        ((index, (one.code, one.severity, _line(one))) for index, one in enumerate(local)),
    )
    rest = _paired(
        partners,
        ((one, one.code) for one in rest),
        ((index, one.code) for index, one in enumerate(local) if index not in partners),
    )
    return partners, rest


Key = TypeVar("Key")


def _paired(
    partners: dict[int, Reported], reported: Iterable[tuple[Reported, Key]], local: Iterable[tuple[int, Key]]
) -> list[Reported]:
    """Pair what has the same key, in order. Returns the findings of the server that remain."""
    free: dict[Key, deque[int]] = defaultdict(deque)
    for index, key in local:
        free[key].append(index)
    rest = []
    for one, key in reported:
        if free[key]:
            partners[free[key].popleft()] = one
        else:
            rest.append(one)
    return rest


def _line(finding: Finding) -> str | None:
    """The line of a local finding in the answer of a server; None where answers have no line for it."""
    return None if finding.severity is Severity.AUDIT else line(finding)


def _of_both(reported: Reported, local: Finding) -> Marked:
    if reported.severity is local.severity and reported.line in (None, line(local)):
        return local, None
    return _worded(reported, local), Difference.CHANGED


def _of_server(reported: Reported, value: object) -> Finding:
    """A finding that only the server has. If the answer does not split its line, it is kept as it is."""
    path = _existing(value, reported.field)
    if reported.line is None:
        return Finding(reported.code, reported.severity, path, _NO_MESSAGE, _explained(reported))
    return Finding(reported.code, reported.severity, path, *_split(reported, reported.line))


def _split(reported: Reported, line: str) -> tuple[str, str]:
    """The message and the remedy of a line of the server."""
    text = line.removeprefix(f"{reported.code} ")
    if reported.message:
        return reported.message, text.removeprefix(f"{reported.message}; ")
    return text, _explained(reported)


def _existing(value: object, path: Path) -> Path:
    """The path of a value of the object, or of its nearest ancestor that exists."""
    for depth, step in enumerate(path):
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return path[:depth]
    return path


def _worded(reported: Reported, local: Finding) -> Finding:
    """A finding of both in the words of the server, split where the answer does, or where a part is the local one."""
    finding = replace(local, severity=reported.severity)
    if reported.line is None:
        return finding
    message, remedy = _split(reported, reported.line)
    if message == local.message and not reported.message:
        return finding
    if reported.severity is Severity.DENY and not reported.message:
        if message.startswith(f"{local.message}; "):
            return replace(finding, remedy=message.removeprefix(f"{local.message}; "), fix=())
        if message.endswith(f"; {local.remedy}"):
            return replace(finding, message=message.removesuffix(f"; {local.remedy}"))
    return replace(finding, message=message, remedy=remedy, fix=())


def _explained(reported: Reported) -> str:
    return f"run gpushare-webhook explain {reported.code}"
