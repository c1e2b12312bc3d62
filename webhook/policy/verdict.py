"""What the engine answers: findings, edits and the decision that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

KEPT = 20
"""Findings of one code that a verdict keeps. All of them are counted."""

MOST_EDITS = 4096
"""Edits that are made in one object. A pod that needs more has thousands of containers and runs on no node."""

Path = tuple[str | int, ...]
"""Keys and indices from the root of an object down to a value."""


class Severity(IntEnum):
    """What a finding leads to, in rising order."""

    OFF = 0
    AUDIT = 1
    WARN = 2
    DENY = 3

    @property
    def label(self) -> str:
        """The word that settings and reports use."""
        return self.name.lower()


class Decision(IntEnum):
    """What is said of an object as a whole."""

    ALLOWED = 0
    WARNED = 1
    DENIED = 2

    @property
    def label(self) -> str:
        """The word that reports, logs and metrics use."""
        return self.name.lower()


class Claim(NamedTuple):
    """What a check says, before the settings give it a severity.

    `path` leads to a node that exists in the pod's object. `message` is what `str` makes of it. `cap` is the most that
    this claim may lead to: a check that cannot know for sure only warns.
    """

    path: Path
    message: object
    remedy: str
    cap: Severity = Severity.DENY


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check says of an object."""

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
    """An edit: the member at `path`, absent or null until now, becomes `value`."""

    path: Path
    value: object


class Extend(NamedTuple):
    """An edit: `value` joins the comma-separated text at `path`, which may be absent."""

    path: Path
    value: str


Edit = Append | Assign | Extend


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one object: the decision, its findings in the order of their codes, and the edits wanted.

    Of each code only the first findings are kept; `counts` has all of them, by code and severity. With `too_many_edits`
    there are more edits than are made, and `edits` is empty.
    """

    decision: Decision
    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]
    counts: Mapping[tuple[str, Severity], int] = field(default_factory=dict)
    too_many_edits: bool = False

    def omitted(self) -> dict[str, int]:
        """How many findings of each code are counted and not kept."""
        left: dict[str, int] = {}
        for (code, _), count in self.counts.items():
            left[code] = left.get(code, 0) + count
        for finding in self.findings:
            left[finding.code] -= 1
        return {code: count for code, count in left.items() if count}


UNTOUCHED = Verdict(Decision.ALLOWED, (), ())
"""The verdict for what is left alone."""
