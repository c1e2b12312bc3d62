"""A baseline: an earlier report of `check -o json`, whose findings a repository accepts for now."""

from __future__ import annotations

from os.path import relpath
from typing import Literal

from msgspec import MsgspecError, Struct, json
from msgspec.structs import astuple

from webhook.diagnostics import InputError
from webhook.dryrun.files import content
from webhook.policy.messages import printable
from webhook.report.model import Entry, Result, Suppression, Suppressor


class _Finding(Struct):
    """A finding, or the number of suppressed ones of a code, which has no path. `by` says what suppresses it."""

    code: str
    path: str | None = None
    by: str = ""
    file: str = ""


class _Object(Struct, rename="camel"):
    api_version: str
    kind: str
    namespace: str
    name: str


class _Result(Struct):
    file: str
    object: _Object
    findings: list[_Finding]
    suppressed: list[_Finding] = []


class _Report(Struct):
    kind: Literal["CheckReport"]
    results: list[_Result]


class Baseline:
    """Suppresses the findings of a report. Raises InputError if it cannot be read."""

    def __init__(self, file: str) -> None:
        name, data = content(file)
        try:
            found = [
                (one, each.code, each.path, each.file)
                for one in json.decode(data, type=_Report).results
                # A report that was made with a baseline holds what that one suppressed, and may replace it.
                for each in (*one.findings, *one.suppressed)
                if each.by in ("", Suppressor.BASELINE.value)
            ]
            # The identity of a finding: the file, the object, the code, the path, and the file that says it, if that is
            # another one. Lines and messages may change.
            self._known: set[tuple[str, ...]] = {
                (relpath(one.file), *astuple(one.object), code, path, file and relpath(file))
                for one, code, path, file in found
                if path is not None
            }
        except (MsgspecError, RecursionError, ValueError) as error:
            message = f"not a report of `check -o json`: {printable(error)}"
            raise InputError.of(name, message) from None

    def suppress(self, entry: Entry) -> Entry:
        """Return the entry without the findings that the baseline holds.

        Those of a code that the entry does not list are left out if the baseline holds all that it lists.
        """
        if not isinstance(entry, Result):
            return entry
        head = relpath(entry.file), *entry.subject
        suppressed, new = [], set()
        for one in entry.findings:
            if (*head, one.code, one.pointer, one.file and relpath(one.file)) in self._known:
                suppressed.append(Suppression(one.code, Suppressor.BASELINE, one))
            else:
                new.add(one.code)
        omitted = [(code, count) for code, count in entry.omitted.items() if code not in new]
        suppressed += [Suppression(code, Suppressor.BASELINE, None, count) for code, count in omitted]
        return entry.without(suppressed)
