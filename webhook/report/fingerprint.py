"""The identity of a finding from one run to the next: independent of lines, messages and the order of objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from posixpath import normpath
from typing import NamedTuple

from webhook.policy.workloads.kinds import group_of
from webhook.report.model import Located, Result

_LONGEST_VALUE = 40
"""Characters of a value that are kept as they are. Longer text, which could be a script, counts by its digest."""


class Place(NamedTuple):
    """Where a finding is, and what is there: the object, the code, the JSON pointer and the value.

    A finding with another value, such as a larger amount, is another finding. `value` is empty for a mapping or a list.
    The version of the API is left out.
    """

    group: str
    kind: str
    namespace: str
    name: str
    code: str
    path: str
    value: str


FIELDS = ("group", "kind", "namespace", "name", "code", "path", "value")
"""The fields of a place, in order."""


def place(result: Result, located: Located) -> Place:
    """Return the place of a finding of a result."""
    return place_in(result, located.finding.code, located.pointer, located.value)


def place_in(result: Result, code: str, path: str = "", value: str = "") -> Place:
    """Return a place in the object of a result."""
    subject = result.subject
    return Place(group_of(subject.api_version), subject.kind, subject.namespace, subject.name, code, path, value)


def fingerprint(result: Result, located: Located) -> str:
    """Return a digest of 64 hexadecimal digits that identifies a finding of the result.

    It stays the same when lines move, when the message changes, and for `a.yaml` and `./a.yaml`. Equal findings of one
    object have different fingerprints, those of two objects with the same name in one file do not.
    """
    own = place(result, located)
    before = 0
    for other in (*(one.located for one in result.suppressed), *result.findings):
        if other is located:
            break
        before += other is not None and place(result, other) == own
    return _digest([normpath(result.file), *own, before])


def fingerprints(result: Result) -> Iterator[str]:
    """Yield the fingerprints of all findings of a result, in time proportional to their number."""
    seen = Counter(place(result, one.located) for one in result.suppressed if one.located is not None)
    for located in result.findings:
        own = place(result, located)
        yield _digest([normpath(result.file), *own, seen[own]])
        seen[own] += 1


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
