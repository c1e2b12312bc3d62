"""The identity of a finding from one run to the next, as in a baseline: independent of lines, messages and order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import normpath
from typing import Any, NamedTuple

from webhook.policy.workloads.kinds import group_of
from webhook.report.model import LocatedFinding, Result

_LONGEST_VALUE = 40
"""Characters of a value that are kept as they are. Longer text, which could be a script, counts by its digest."""


class FindingKey(NamedTuple):
    """The identity of a finding: the file, the object, the code, the JSON pointer and the value.

    A finding with another value, such as a larger amount, is another finding. `value` is empty for a mapping or a list.
    The version of the API is left out. With `further`, it is that of all findings of a code that are not listed, which
    have no path.
    """

    file: str
    group: str
    kind: str
    namespace: str
    name: str
    code: str
    path: str = ""
    value: str = ""
    further: bool = False

    def as_data(self, count: int = 1) -> dict[str, Any]:
        """Return the entry of a baseline. Empty fields are left out, and a count of 1."""
        entry = {key: one for key, one in self._asdict().items() if one}
        if self.further:
            return {**entry, "further": count}
        entry["path"] = self.path
        return {**entry, "count": count} if count > 1 else entry


def further_key(file: str, result: Result, code: str) -> FindingKey:
    """Return the key of the findings of a code that a result does not list."""
    subject = result.subject
    own = (subject.kind, subject.namespace, subject.name)
    return FindingKey(file, group_of(subject.api_version), *own, code, further=True)


def finding_key(file: str, result: Result, finding: LocatedFinding) -> FindingKey:
    """Return the key of a finding of a result."""
    return further_key(file, result, finding.code)._replace(path=finding.pointer, value=finding.value, further=False)


@dataclass(frozen=True, slots=True)
class BaselineUse:
    """The baseline of a run: its file, whether the run writes it, and the entries that no longer occur."""

    file: str
    is_written: bool = False
    stale: tuple[FindingKey, ...] = ()


class Fingerprints:
    """The fingerprints of the findings of a run: digests of 64 hexadecimal digits.

    A fingerprint stays the same when lines move, when the message changes, and for `a.yaml` and `./a.yaml`. Equal
    findings of one file, such as those of two objects without a name, are numbered: code scanning shows one finding of
    each fingerprint. Keeps a number for each finding of the last file.
    """

    def __init__(self) -> None:
        self._file = ""
        self._seen: Counter[int] = Counter()

    def of(self, result: Result) -> Iterator[str]:
        """Yield the fingerprint of each finding of the next result."""
        if result.file != self._file:
            self._file = result.file
            self._seen.clear()
        file = normpath(result.file)
        for suppression in result.suppressed:
            if suppression.finding is not None:
                self._seen[hash(finding_key(file, result, suppression.finding))] += 1
        for finding in result.findings:
            key = finding_key(file, result, finding)
            number = hash(key)
            yield _digest([*key[:-1], self._seen[number]])
            self._seen[number] += 1


def value_of(value: object) -> str:
    """Return a scalar as the text by which findings are compared; empty for a mapping, a list and null."""
    match value:
        case None | dict() | list():
            return ""
        case bool():
            return str(value).lower()
        case str() if len(value) > _LONGEST_VALUE:
            return f"sha256:{_digest(value)[:16]}"
        case _:
            return str(value)


def _digest(value: object) -> str:
    # Loading OpenSSL takes milliseconds, and most runs need no digest.
    import json
    from hashlib import sha256

    return sha256(json.dumps(value).encode()).hexdigest()
