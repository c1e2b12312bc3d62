"""Why the device plugin refuses a value, and which of its releases do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.policy.verdict import Path

FIRST: Final = 15
"""The first release with MPS, v0.15: releases are known by their minor number. Earlier ones count as this one."""

NEWEST: Final = 20
"""The newest release whose code the rules follow, v0.20. Later ones count as this one."""


class Problem(NamedTuple):
    """Why the plugin refuses a value: in releases from `since` on, before `until`."""

    path: Path
    problem: str
    remedy: str
    since: int = FIRST
    until: int = NEWEST + 1

    @property
    def releases(self) -> str:
        """The releases that refuse the value; empty if all do."""
        if self.since > FIRST:
            return f"from v0.{self.since} on"
        return f"before v0.{self.until}" if self.until <= NEWEST else ""


Problems = Iterator[Problem]


def release_of(version: str) -> int:
    """The release that a version such as v0.17.4 belongs to."""
    major, minor, *_ = version.lstrip("v").split(".")
    return min(max(int(minor), FIRST), NEWEST) if int(major) == 0 else NEWEST
