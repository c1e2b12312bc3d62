"""The identity of a finding from one run to the next: independent of lines, messages and order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from posixpath import normpath

from webhook.policy.workloads.kinds import group_of
from webhook.report.model import LocatedFinding, Result

_LONGEST_VALUE = 40
"""Characters of a value that are kept as they are. Longer text, which could be a script, counts by its digest."""


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
        version, *subject = result.subject
        head = (file, group_of(version), *subject)
        for suppression in result.suppressed:
            if suppression.finding is not None:
                self._seen[hash((*head, *_own(suppression.finding)))] += 1
        for finding in result.findings:
            key = (*head, *_own(finding))
            number = hash(key)
            yield _digest([*key, self._seen[number]])
            self._seen[number] += 1


def _own(finding: LocatedFinding) -> tuple[str, ...]:
    """Return what is of the finding itself: with its file, if that is another one than the object's."""
    return finding.code, finding.pointer, finding.value, *([normpath(finding.file)] if finding.file else [])


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
