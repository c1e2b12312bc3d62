"""A baseline from plain values: what its file may hold, with all problems at their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from webhook.diagnostics import Diagnostic, InputError, Locate, dotted
from webhook.policy.settings.formats import did_you_mean, shown
from webhook.policy.verdict import Path
from webhook.report.baseline import API_VERSION, KIND, Accepted, Baseline
from webhook.report.fingerprint import FIELDS, Place


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


def _problems(value: object) -> Iterator[tuple[Path, str]]:
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


def _problems_of_entry(entry: object, path: Path) -> Iterator[tuple[Path, str]]:
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


def _unknown(value: dict[str, Any], known: Sequence[str], path: Path) -> Iterator[tuple[Path, str]]:
    for key in value:
        if key not in known:
            hint = did_you_mean(key, known) or f"the keys are {', '.join(known)}"
            yield (*path, key), f"{dotted((*path, key))}: unknown key; {hint}"


_MOST_PROBLEMS = 20
"""Problems of one file that are reported."""
