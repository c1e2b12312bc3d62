"""The claims of claims.toml: what each says, where it is used, and the pattern that the released source matches.

The first group of a pattern is its key: the literal that would change if the claim became wrong.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).parent / "claims.toml"
KINDS: Final = ("go", "pypi")
"""The registries, by the key that names a package of theirs."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where releases of a project are. `recorded` has those that no registry serves: commit and date by release."""

    name: str
    repository: str
    registry: str
    package: str
    release: str
    recorded: Mapping[str, str]

    @property
    def last(self) -> str:
        """The newest release that claims were held against."""
        return max(filter(None, (self.release, *self.recorded)), key=numbers)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about a file of a release. `used` are words of files, each as `file: word`."""

    says: str
    source: Source
    release: str
    path: str
    pattern: re.Pattern[str]
    used: Sequence[tuple[str, str]]

    @property
    def is_recorded(self) -> bool:
        """Whether no registry serves the release."""
        return self.release in self.source.recorded

    @property
    def is_of_an_old_release(self) -> bool:
        """Whether a newer release of the source is known: the claim is about what was so."""
        return self.release not in (self.source.release, self.source.last)

    def problem(self, text: str) -> str:
        """Why the text of the file does not show the claim; empty if it does."""
        found = self.pattern.search(text)
        if found is None:
            return "the pattern is not in the file"
        return "" if self.pattern.search(changed(found)) is None else "the pattern holds for another key as well"


def changed(found: re.Match[str]) -> str:
    """The matched text with another last character of its key."""
    end = found.end(1)
    last = found.string[end - 1]
    other = str((int(last) + 1) % 10) if last.isdecimal() else "x" if last != "x" else "y"
    return found.string[found.start() : end - 1] + other + found.string[end : found.end()]


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, by which versions are ordered."""
    return tuple(map(int, re.findall(r"\d+", version)))


def load() -> tuple[Mapping[str, Source], Sequence[Claim]]:
    """Return the sources by name, and the claims."""
    sources, claims = {}, []
    for name, table in tomllib.loads(_FILE.read_text(encoding="utf-8")).items():
        registry = next((kind for kind in KINDS if kind in table), "")
        source = Source(
            name,
            table["repository"],
            registry,
            table.get(registry, ""),
            table.get("release", ""),
            table.get("recorded", {}),
        )
        sources[name] = source
        claims += [_claim(source, one) for one in table.get("claims", ())]
    return sources, claims


def _claim(source: Source, one: Mapping[str, Any]) -> Claim:
    used = [(file, word) for file, _, word in (each.partition(": ") for each in one["used"])]
    release = one.get("release") or source.release or source.last
    return Claim(one["says"], source, release, one["path"], re.compile(one["pattern"], re.MULTILINE), used)
