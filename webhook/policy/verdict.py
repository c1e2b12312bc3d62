"""The verdict for an object: a decision, findings and edits.

The messages of findings always fit: names are quoted, and shortened in the middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Final, NamedTuple

from webhook.policy.messages import printable, shorten

KEPT_PER_CODE = 20
"""Findings of one code that a verdict keeps. It counts all of them."""

MOST_EDITS = 4096
"""The most edits of one object. A pod that needs more has thousands of containers and fits no node."""

Path = tuple[str | int, ...]
"""The keys and indices that lead from the root of an object to a value."""


class _Labelled(IntEnum):
    label: str  # the word that reports, logs and metrics use

    def __init__(self, _: int) -> None:
        self.label = self.name.lower()


class Severity(_Labelled):
    """The consequence of a finding, in rising order."""

    OFF = 0
    AUDIT = 1
    WARN = 2
    DENY = 3


class Decision(_Labelled):
    """The outcome for an object as a whole."""

    ALLOWED = 0
    WARNED = 1
    DENIED = 2


DECISIONS: Mapping[Severity, Decision] = {
    Severity.OFF: Decision.ALLOWED,
    Severity.AUDIT: Decision.ALLOWED,
    Severity.WARN: Decision.WARNED,
    Severity.DENY: Decision.DENIED,
}
"""The outcome for an object by its most severe finding."""


MESSAGE_LIMIT = 112
"""Characters of a message. With its code, a warning fits the 120 characters that the API server recommends."""

_SHORTEST = 9


class Message(NamedTuple):
    """A message that is formatted on demand: of thousands of findings, only a few are kept."""

    template: str
    names: tuple[object, ...]

    def __str__(self) -> str:
        """The template with each `{}` replaced by a quoted name. Long names are shortened until the message fits."""
        names = [printable(name, MESSAGE_LIMIT) for name in self.names]
        room = MESSAGE_LIMIT - len(self.template)  # each `{}` makes room for its pair of quotes
        lengths = [len(name) for name in names]
        if sum(lengths) > room:
            names = [shorten(name, share) for name, share in zip(names, _shares(lengths, room), strict=True)]
        return self.template.format(*[f'"{name}"' for name in names])


def message(template: str, *names: object) -> Message:
    """A message with a name for each `{}` of its template."""
    return Message(template, names)


def _shares(lengths: list[int], room: int) -> list[int]:
    """The length of each name: short ones stay whole, long ones share the rest, none is shorter than `_SHORTEST`."""
    # The greatest length to which names that do not fit the room may be cut so that they fit it together: the share of
    # the longer names of what the shorter ones leave, for the number of shorter ones that leaves most.
    ordered = sorted(lengths)
    levels = [(room - sum(ordered[:kept])) // (len(ordered) - kept) for kept in range(len(ordered))]
    level = max(_SHORTEST, *levels)
    spare = room - sum(min(length, level) for length in lengths)
    shares = []
    for length in reversed(lengths):
        longer = length > level and spare > 0
        spare -= longer
        shares.append(min(length, level) + longer)
    return shares[::-1]


class Violation(NamedTuple):
    """The report of a check about one value, before the settings give it a severity.

    `path` leads to a node that exists in the object. `cap` is the highest severity of this violation: a check that
    cannot be certain only warns. `least` is its lowest severity, unless the settings name the check.
    """

    path: Path
    message: str | Message
    remedy: str
    cap: Severity = Severity.DENY
    least: Severity = Severity.OFF


Violations = Iterable[Violation]
"""The violations that a check reports; empty when nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation with its code and severity, as users see it."""

    code: str
    severity: Severity
    path: Path
    message: str
    remedy: str


class Append(NamedTuple):
    """An edit: `value` becomes the last element of the list at `path`, which may be absent."""

    path: Path
    value: object


class Assign(NamedTuple):
    """An edit: the member at `path`, which is absent or null, becomes `value`."""

    path: Path
    value: object


class Extend(NamedTuple):
    """An edit: `value` is added to the comma-separated text at `path`, which may be absent."""

    path: Path
    value: str


Edit = Append | Assign | Extend


_NO_COUNTS: Final[Mapping[tuple[str, Severity], int]] = {}


class Verdict(NamedTuple):
    """The decision about one object, its findings in the order of their codes, and its edits.

    `findings` holds KEPT_PER_CODE of each code: the most severe, and of those the first. `counts` counts all of them,
    by code and severity. When an object needs more than MOST_EDITS edits, `too_many_edits` is set and `edits` is empty.
    `reason` says why pods of the object are exempt, get their nodes later, or had to be searched for. `withheld` names
    the injections that do not apply to a pod with GPU requests, each with its reason. `users` holds the users with
    which the object's containers use MPS and the paths of these settings, for a comparison of objects; offline only.
    `injected` names the injections whose edits these are, `reported` those that would make edits if the settings did
    not only report them. `injected_annotation` is the edit that names `injected` in a pod: it is made along with others
    only. `is_skipped`: nothing of the object was checked; `reason` says why.
    """

    decision: Decision
    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]
    counts: Mapping[tuple[str, Severity], int] = _NO_COUNTS
    too_many_edits: bool = False
    reason: str = ""
    withheld: tuple[tuple[str, str], ...] = ()
    users: tuple[tuple[int, Path], ...] = ()
    is_skipped: bool = False
    injected: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    injected_annotation: Extend | None = None

    @property
    def sent(self) -> tuple[Edit, ...]:
        """The edits of a pod that the mutating hook makes."""
        return self.edits if self.injected_annotation is None else (*self.edits, self.injected_annotation)

    def left_out(self) -> dict[str, int]:
        """How many violations of each code are no findings, because nothing shows MPS."""
        return {code: count for (code, severity), count in self.counts.items() if severity is Severity.OFF}

    def omitted(self) -> dict[str, int]:
        """How many findings of each code were counted but not kept."""
        left: dict[str, int] = {}
        if sum(self.counts.values()) != len(self.findings):  # else it is so for almost all objects
            for (code, _), count in self.omitted_by_severity().items():
                left[code] = left.get(code, 0) + count
        return left

    def omitted_by_severity(self) -> dict[tuple[str, Severity], int]:
        """How many findings of each code and severity were counted but not kept."""
        left = {counted: count for counted, count in self.counts.items() if counted[1] is not Severity.OFF}
        for finding in self.findings:
            left[finding.code, finding.severity] -= 1
        return {counted: count for counted, count in left.items() if count}


UNTOUCHED = Verdict(Decision.ALLOWED, (), ())
"""The verdict for an object that is left alone."""


def skipped(reason: str) -> Verdict:
    """The verdict for an object of which nothing is checked."""
    return Verdict(Decision.ALLOWED, (), (), reason=reason, is_skipped=True)


class VerdictBuilder:
    """Collects the findings and edits of the pods of one object, and the names of the injections in their order."""

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[tuple[str, Severity], int] = {}
        self.edits: list[Edit] = []
        self.injected: dict[str, None] = {}
        self.reported: dict[str, None] = {}
        self.injected_annotation: Extend | None = None
        self.reason = ""
        self.withheld: dict[str, str] = {}
        self.users: list[tuple[int, Path]] = []

    def add_edits(self, edits: Iterable[Edit], injections: Iterable[str]) -> None:
        """Collect the edits that these injections make in a pod, at most one more than an object may get."""
        self.edits.extend(islice(edits, MOST_EDITS + 1 - len(self.edits)))
        self.injected |= dict.fromkeys(injections)

    def add(self, code: str, severity: Severity, violation: Violation) -> None:
        counted = code, severity
        self.counts[counted] = self.counts.get(counted, 0) + 1
        if severity is Severity.OFF:
            return
        kept = self.findings.setdefault(code, [])
        if len(kept) == KEPT_PER_CODE:
            # In place of the last one that is less severe: a pod with enough warnings would be denied without a reason.
            weaker = [index for index, finding in enumerate(kept) if finding.severity < severity]
            if not weaker:
                return
            del kept[weaker[-1]]
        message = str(violation.message)
        kept.append(Finding(code, severity, violation.path, message, violation.remedy))

    def build(self) -> Verdict:
        parts = (
            self.counts,
            self.edits,
            self.reported,
            self.reason,
            self.withheld,
            self.users,
            self.injected_annotation,
        )
        if not any(parts):
            return UNTOUCHED
        too_many = len(self.edits) > MOST_EDITS
        return Verdict(
            DECISIONS[max(severity for _, severity in self.counts)] if self.counts else Decision.ALLOWED,
            tuple(finding for code in sorted(self.findings) for finding in self.findings[code]),
            () if too_many else tuple(self.edits),
            self.counts,
            too_many,
            self.reason,
            tuple(self.withheld.items()),
            tuple(self.users),
            False,
            () if too_many else tuple(self.injected),
            tuple(self.reported),
            None if too_many else self.injected_annotation,
        )
