"""The remedies of a run: each once, however many findings it resolves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webhook.policy.verdict import Finding

_KEPT = 3
"""Remedies of one code that are listed. A cluster with known nodes may have another one for each pod."""


class Remedies:
    """Collects the first remedies of each code, and counts the findings with others."""

    __slots__ = ("_kept", "_others")

    def __init__(self) -> None:
        self._kept: dict[str, list[str]] = {}
        self._others: Counter[str] = Counter()

    def add(self, finding: Finding) -> None:
        kept = self._kept.setdefault(finding.code, [])
        if finding.remedy in kept:
            return
        if len(kept) < _KEPT:
            kept.append(finding.remedy)
        else:
            self._others[finding.code] += 1

    def listed(self) -> Iterator[tuple[str, str]]:
        """Yield the remedies with their codes, in the order of the codes."""
        for code in sorted(self._kept):
            for remedy in self._kept[code]:
                yield code, remedy
            if others := self._others[code]:
                yield code, f"({others} more {'finding has' if others == 1 else 'findings have'} other remedies)"
