"""A baseline: the findings that a repository accepts for now, so that a run reports only new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from webhook.policy.messages import printable
from webhook.report.fingerprint import FIELDS, Place, place, place_in
from webhook.report.model import Result, Selection, Suppression, Suppressor

API_VERSION = "gpushare-webhook/v1"
KIND = "Baseline"


class Accepted(NamedTuple):
    """A finding of a file; `further` for those of a code that a report counts but does not list, which have no path."""

    file: str
    place: Place
    further: bool = False

    def __str__(self) -> str:
        group, kind, namespace, name, code, path, _ = map(printable, self.place)
        named = f"{namespace}/{name}" if namespace else name
        where = "not listed" if self.further else path or "/"
        return f"{printable(self.file)}: {code} {f'{kind}.{group}' if group else kind} {named} {where}"

    def as_data(self, count: int = 1) -> dict[str, Any]:
        """Return the entry of the file. What is empty is left out, and a count of 1."""
        entry = {"file": self.file, **{key: one for key, one in zip(FIELDS, self.place, strict=True) if one}}
        if self.further:
            return {**entry, "further": count}
        entry["path"] = self.place.path
        return {**entry, "count": count} if count > 1 else entry


class Recorded:
    """Records the findings of a run, which become a baseline."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[Accepted] = Counter()

    def suppress(self, file: str, result: Result) -> Result:
        """Record the findings of a result, and return it without them. `file` is its file in the baseline."""
        suppressed = [Suppression(one.finding.code, Suppressor.BASELINE, one) for one in result.findings]
        for one in result.findings:
            self._counts[Accepted(file, place(result, one))] += 1
        for code, count in result.omitted.items():
            self._counts[_further(file, result, code)] += count
            suppressed.append(Suppression(code, Suppressor.BASELINE, None, count))
        return result.without(suppressed)

    def as_data(self) -> dict[str, Any]:
        """Return the content of the baseline: the same for the same findings, in whatever order they come."""
        entries = [accepted.as_data(count) for accepted, count in sorted(self._counts.items())]
        return {"apiVersion": API_VERSION, "kind": KIND, "findings": entries}


class Baseline:
    """Suppresses findings, each as often as the baseline counts it."""

    __slots__ = ("_files", "_left")

    def __init__(self, counts: Mapping[Accepted, int]) -> None:
        self._left = dict(counts)
        self._files: set[str] = set()

    def suppress(self, file: str, result: Result) -> Result:
        """Return a result without the findings that the baseline holds. `file` is its file in the baseline.

        A finding without an entry of its own counts against the number of further ones of its code.
        """
        self._files.add(file)
        suppressed = []
        for one in result.findings:
            code = one.finding.code
            if self._take(Accepted(file, place(result, one)), 1) or self._take(_further(file, result, code), 1):
                suppressed.append(Suppression(code, Suppressor.BASELINE, one))
        for code, count in result.omitted.items():
            if taken := self._take(_further(file, result, code), count):
                suppressed.append(Suppression(code, Suppressor.BASELINE, None, taken))
        return result.without(suppressed)

    def _take(self, accepted: Accepted, wanted: int) -> int:
        taken = min(wanted, self._left.get(accepted, 0))
        if taken:
            self._left[accepted] -= taken
        return taken

    def stale(
        self, selection: Selection, unreadable: Container[str], is_gone: Callable[[str], bool]
    ) -> tuple[Accepted, ...]:
        """Return the entries that no longer occur: their file is gone, or has results without them.

        Nothing is known of a file with an error or without results, and of checks that the run does not make.
        """
        left = [one for one, count in self._left.items() if count and selection.includes(one.place.code)]
        files = {one.file for one in left if one.file not in unreadable}
        known = {file for file in files if file in self._files or is_gone(file)}
        return tuple(sorted(one for one in left if one.file in known))


@dataclass(frozen=True, slots=True)
class BaselineUse:
    """The baseline of a run: its file, whether the run writes it, and the entries that no longer occur."""

    file: str
    is_written: bool = False
    stale: tuple[Accepted, ...] = ()


def _further(file: str, result: Result, code: str) -> Accepted:
    return Accepted(file, place_in(result, code), further=True)
