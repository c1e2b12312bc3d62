"""A baseline: the findings that a repository accepts for now, so that a run reports only new ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from webhook.diagnostics import Diagnostic, InputError, Locate, dotted
from webhook.dryrun.files import content, parse
from webhook.manifests import STDIN
from webhook.policy import verdict
from webhook.policy.settings.formats import did_you_mean, shown
from webhook.report.baseline import API_VERSION, KIND, Accepted, BaselineUse
from webhook.report.fingerprint import FIELDS, Place, place, place_in
from webhook.report.model import Entry, Result, Selection, Suppression, Suppressor
from webhook.report.tally import Tally


class ReadBaseline:
    """Suppresses the findings of a baseline, and names its entries that no longer occur."""

    def __init__(self, file: str) -> None:
        self._file, data = content(file)
        self._names = _Names(file)
        self._baseline = parse(self._file, data, load)
        self._unreadable: set[str] = set()

    def suppress(self, entry: Entry) -> Entry:
        """Return the entry without the findings that the baseline holds."""
        if isinstance(entry, Result):
            return self._baseline.suppress(self._names.of(entry.file), entry)
        self._unreadable.add(self._names.of(entry.file))
        return entry

    def end(self, tally: Tally) -> None:
        """Add the entries that no longer occur to the tally."""
        stale = self._baseline.stale(tally.selection, self._unreadable, self._names.is_gone)
        tally.baseline = BaselineUse(self._file, stale=stale)


class WrittenBaseline:
    """Suppresses all findings, and writes them to a baseline unless the run has errors."""

    def __init__(self, file: str, write: Callable[[str], object], tell: Callable[[str], object]) -> None:
        self._file = file
        self._write = write
        self._tell = tell
        self._names = _Names(file)
        self._recorded = Recorded()

    def suppress(self, entry: Entry) -> Entry:
        """Record the findings of the entry, and return it without them."""
        return self._recorded.suppress(self._names.of(entry.file), entry) if isinstance(entry, Result) else entry

    def end(self, tally: Tally) -> None:
        """Write the baseline. Raises InputError if it cannot be written."""
        if tally.errors:
            self._tell(f"{self._file}: not written: the inputs with errors may have findings; correct them first")
            return
        from webhook.report.data import yaml_text  # imports libraries that other runs do not need

        self._write(yaml_text(self._recorded.as_data()))
        tally.baseline = BaselineUse(self._file, is_written=True)


class _Names:
    """The names of files in a baseline: relative to its folder, so that the working directory does not matter."""

    __slots__ = ("_folder", "_folder_of")

    def __init__(self, file: str) -> None:
        self._folder = os.path.realpath(PurePath(file).parent)
        self._folder_of = lru_cache(_FOLDERS)(os.path.realpath)

    def of(self, file: str) -> str:
        """Return the name of a file, with slashes. Standard input keeps its name."""
        if file == STDIN:
            return file
        path = PurePath(file)
        return PurePath(os.path.relpath(self._folder_of(str(path.parent)), self._folder), path.name).as_posix()

    def is_gone(self, name: str) -> bool:
        """Return whether a file of the baseline does not exist any more, or cannot exist under its name."""
        try:
            if name != STDIN:
                Path(self._folder, name).stat()
        except PermissionError:
            return False
        except (OSError, ValueError):
            return True
        return False


_FOLDERS = 1024
"""Folders whose real names are remembered."""


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


def _further(file: str, result: Result, code: str) -> Accepted:
    return Accepted(file, place_in(result, code), further=True)


def load(value: object, locate: Locate, file: str) -> Baseline:
    """Return the baseline that a file holds. Raises InputError."""
    problems = islice(_problems(value), _MOST_PROBLEMS)
    diagnostics = [Diagnostic(file, *locate(path), message) for path, message in problems]
    if diagnostics:
        raise InputError(sorted(diagnostics, key=lambda one: (one.line, one.column)))
    held: Any = value
    counts: dict[Accepted, int] = {}
    for entry in held["findings"] or ():
        accepted, count = _accepted(entry)
        # A merge of two branches may repeat an entry.
        counts[accepted] = max(count, counts.get(accepted, 0))
    return Baseline(counts)


def _accepted(entry: dict[str, Any]) -> tuple[Accepted, int]:
    where = Place(*(entry.get(field, "") for field in FIELDS))
    if "further" in entry:
        return Accepted(entry["file"], where, further=True), entry["further"]
    return Accepted(entry["file"], where), entry.get("count", 1)


def _problems(value: object) -> Iterator[tuple[verdict.Path, str]]:
    """Yield what is wrong with the content of a file, and where."""
    if not isinstance(value, dict):
        yield (), f"must be a baseline, which --write-baseline writes, not {shown(value)}"
        return
    for key, right in (("apiVersion", API_VERSION), ("kind", KIND)):
        if value.get(key) != right:
            yield (key,), f'{key}: must be "{right}", not {shown(value.get(key))}'
            return
    yield from _unknown(value, ("apiVersion", "kind", "findings"), ())
    findings = value.get("findings")
    if not isinstance(findings, list):
        yield ("findings",), f"findings: must be a list, not {shown(findings)}"
        return
    for index, entry in enumerate(findings):
        yield from _problems_of_entry(entry, ("findings", index))


_TEXTS = ("file", *FIELDS)
_NUMBERS = ("count", "further")


def _problems_of_entry(entry: object, path: verdict.Path) -> Iterator[tuple[verdict.Path, str]]:
    name = dotted(path)
    if not isinstance(entry, dict):
        yield path, f"{name}: must be a mapping, not {shown(entry)}"
        return
    yield from _unknown(entry, (*_TEXTS, *_NUMBERS), path)
    for key in ("file", "kind", "code"):
        if key not in entry:
            yield path, f"{name}: {key} is missing"
    if ("path" in entry) is ("further" in entry):
        yield path, f"{name}: must have either path or further"
    for key, one in entry.items():
        if key in _TEXTS and not isinstance(one, str):
            yield (*path, key), f"{name}.{key}: must be text, not {shown(one)}{_IN_QUOTES if one is not None else ''}"
        elif key in _NUMBERS and (not isinstance(one, int) or isinstance(one, bool) or one < 1):
            yield (*path, key), f"{name}.{key}: must be a whole number from 1, not {shown(one)}"


_IN_QUOTES = "; put it in quotes"


def _unknown(value: dict[str, Any], known: Sequence[str], path: verdict.Path) -> Iterator[tuple[verdict.Path, str]]:
    for key in value:
        if key not in known:
            hint = did_you_mean(key, known) or f"the keys are {', '.join(known)}"
            yield (*path, key), f"{dotted((*path, key))}: unknown key; {hint}"


_MOST_PROBLEMS = 20
"""Problems of one file that are reported."""
