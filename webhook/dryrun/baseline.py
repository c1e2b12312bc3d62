"""A baseline: the findings that a repository accepts for now, so that a run reports only new ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from webhook.diagnostics import KEY, Diagnostic, InputError, Locate, dotted
from webhook.dryrun.files import content, parse
from webhook.manifests import STDIN
from webhook.policy import verdict
from webhook.policy.settings.formats import did_you_mean, shown
from webhook.report.fingerprint import BaselineUse, FindingKey, finding_key, further_key
from webhook.report.model import Entry, Result, Suppression, Suppressor
from webhook.report.tally import Tally


class ReadBaseline:
    """Suppresses the findings of a baseline, each as often as it counts it, and names entries that no longer occur."""

    def __init__(self, file: str) -> None:
        self._file, data = content(file)
        self._names = _Names(file)
        self._left = parse(self._file, data, load)
        self._checked: set[str] = set()
        self._unreadable: set[str] = set()

    def suppress(self, entry: Entry) -> Entry:
        """Return the entry without the findings that the baseline holds.

        A finding without an entry of its own counts against the number of further ones of its code.
        """
        file = self._names.of(entry.file)
        if not isinstance(entry, Result):
            self._unreadable.add(file)
            return entry
        self._checked.add(file)
        suppressed = []
        for one in entry.findings:
            code = one.code
            if self._take(finding_key(file, entry, one), 1) or self._take(further_key(file, entry, code), 1):
                suppressed.append(Suppression(code, Suppressor.BASELINE, one))
        for code, count in entry.omitted.items():
            if taken := self._take(further_key(file, entry, code), count):
                suppressed.append(Suppression(code, Suppressor.BASELINE, None, taken))
        return entry.without(suppressed)

    def _take(self, key: FindingKey, wanted: int) -> int:
        taken = min(wanted, self._left.get(key, 0))
        if taken:
            self._left[key] -= taken
        return taken

    def end(self, tally: Tally) -> None:
        """Add the entries that no longer occur to the tally: their file is gone, or has results without them.

        Nothing is known of a file with an error or without results, and of checks that the run does not make.
        """
        left = [one for one, count in self._left.items() if count and tally.selection.includes(one.code)]
        files = {one.file for one in left if one.file not in self._unreadable}
        known = {file for file in files if file in self._checked or self._names.is_gone(file)}
        tally.baseline = BaselineUse(self._file, stale=tuple(sorted(one for one in left if one.file in known)))


class WrittenBaseline:
    """Suppresses all findings, and writes them to a baseline unless the run has errors."""

    def __init__(self, file: str, write: Callable[[str], object], tell: Callable[[str], object]) -> None:
        self._file = file
        self._write = write
        self._tell = tell
        self._names = _Names(file)
        self._counts: Counter[FindingKey] = Counter()

    def suppress(self, entry: Entry) -> Entry:
        """The entry without findings, which the baseline gets."""
        if not isinstance(entry, Result):
            return entry
        file = self._names.of(entry.file)
        suppressed = [Suppression(one.code, Suppressor.BASELINE, one) for one in entry.findings]
        self._counts.update(finding_key(file, entry, one) for one in entry.findings)
        for code, count in entry.omitted.items():
            self._counts[further_key(file, entry, code)] += count
            suppressed.append(Suppression(code, Suppressor.BASELINE, None, count))
        return entry.without(suppressed)

    def end(self, tally: Tally) -> None:
        """Write the baseline, sorted, so that the order of the inputs does not matter. Raises InputError."""
        if tally.errors:
            self._tell(f"{self._file}: not written: the inputs with errors may have findings; correct them first")
            return
        from webhook.report.data import yaml_text  # imports libraries that other runs do not need

        findings = [key.as_data(count) for key, count in sorted(self._counts.items())]
        self._write(yaml_text({"apiVersion": API_VERSION, "kind": KIND, "findings": findings}))
        tally.baseline = BaselineUse(self._file, is_written=True)


class _Names:
    """The names of files in a baseline: relative to its folder, so that the working directory does not matter."""

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


def load(value: object, locate: Locate, file: str) -> dict[FindingKey, int]:
    """Return the entries of a baseline and how often each counts. Raises InputError."""
    problems = islice(_problems(value), _MOST_PROBLEMS)
    diagnostics = [Diagnostic(file, *locate(path), message) for path, message in problems]
    if diagnostics:
        raise InputError(sorted(diagnostics, key=lambda one: (one.line, one.column)))
    held: Any = value
    counts: dict[FindingKey, int] = {}
    for entry in held["findings"] or ():
        key = FindingKey._make([*(entry.get(field, "") for field in _TEXTS), "further" in entry])
        count = entry["further"] if key.further else entry.get("count", 1)
        # A merge of two branches may repeat an entry.
        counts[key] = max(count, counts.get(key, 0))
    return counts


API_VERSION = "gpushare-webhook/v1"
KIND = "Baseline"


def _problems(value: object) -> Iterator[tuple[verdict.Path, str]]:
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


_TEXTS = FindingKey._fields[:-1]
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
            hint = "" if one is None else "; put it in quotes"
            yield (*path, key), f"{name}.{key}: must be text, not {shown(one)}{hint}"
        elif key in _NUMBERS and (not isinstance(one, int) or isinstance(one, bool) or one < 1):
            yield (*path, key), f"{name}.{key}: must be a whole number from 1, not {shown(one)}"


def _unknown(value: dict[str, Any], known: Sequence[str], path: verdict.Path) -> Iterator[tuple[verdict.Path, str]]:
    for key in value:
        if key not in known:
            hint = did_you_mean(key, known) or f"the keys are {', '.join(known)}"
            yield (*path, key, KEY), f"{dotted((*path, key))}: unknown key; {hint}"


_MOST_PROBLEMS = 20
"""Problems of one file that are reported."""
