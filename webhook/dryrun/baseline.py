"""A baseline: the findings that a repository accepts for now, so that a run reports only new ones."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert

from webhook.diagnostics import Diagnostic, InputError, Locate, dotted
from webhook.dryrun.files import content, parse
from webhook.manifests import STDIN
from webhook.policy.messages import printable
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
        self._write(yaml_text({"apiVersion": "gpushare-webhook/v1", "kind": "Baseline", "findings": findings}))
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


class _Entry(Struct, forbid_unknown_fields=True):
    """A finding, or the number of further ones of its code, which have no path."""

    file: str
    kind: str
    code: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    value: str = ""
    count: Annotated[int, Meta(ge=1)] = 1
    further: Annotated[int, Meta(ge=1)] | None = None


class _Baseline(Struct, forbid_unknown_fields=True, rename="camel"):
    api_version: Literal["gpushare-webhook/v1"]
    kind: Literal["Baseline"]
    findings: list[_Entry]


def load(value: object, locate: Locate, file: str) -> dict[FindingKey, int]:
    """Return the entries of a baseline and how often each counts. Raises InputError."""
    counts: dict[FindingKey, int] = {}
    for index, entry in enumerate(_read(value, locate, file).findings):
        if (entry.path is None) is (entry.further is None):
            path = ("findings", index)
            raise InputError([Diagnostic(file, *locate(path), f"{dotted(path)}: must have either path or further")])
        of_object = (entry.file, entry.group, entry.kind, entry.namespace, entry.name)
        key = FindingKey(*of_object, entry.code, entry.path or "", entry.value, further=entry.further is not None)
        # A merge of two branches may repeat an entry.
        counts[key] = max(entry.further or entry.count, counts.get(key, 0))
    return counts


def _read(value: object, locate: Locate, file: str) -> _Baseline:
    try:
        return convert(value, _Baseline)
    except ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        path = tuple([int(index) if index else key for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", place)])
        message = f"{dotted(path)}: {printable(problem)}" if path else f"no baseline: {printable(problem)}"
        raise InputError([Diagnostic(file, *locate(path), message)]) from None
