"""The bytes of a file with the fixes of its findings, proven: only the values of the fixes are others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests import Document, Position, documents
from webhook.policy.verdict import Path
from webhook.report.model import Located, TextEdit
from webhook.report.rewrite.file import Cursor, Splice, applied


class Fixed(NamedTuple):
    """The new content of a file, and the findings that it fixes. Without one, the content is the old one."""

    content: bytes
    findings: tuple[Located, ...]


def fixed(data: bytes, findings: Sequence[Located]) -> Fixed:
    """Return the file with the fixes of findings, each as a whole or not at all.

    Where two fixes give one field different values, the first one counts. A file that does not have the text to which
    the fixes belong gets none.
    """
    edits: dict[tuple[int, int], TextEdit] = {}
    taken: list[Located] = []
    for one in findings:
        own = {(edit.line, edit.column): edit for edit in one.fix}
        if own and all(edits.get(place, edit) == edit for place, edit in own.items()):
            edits |= own
            taken.append(one)
    cursor = Cursor(data)
    ordered = [edits[place] for place in sorted(edits)]
    after = applied(data, [_splice(cursor, edit) for edit in ordered])
    return Fixed(after, tuple(taken)) if taken and _is_proven(data, after, ordered) else Fixed(data, ())


def _splice(cursor: Cursor, edit: TextEdit) -> Splice:
    start = cursor.offset(Position(edit.line, edit.column))
    end = cursor.offset(Position(edit.line, edit.column + edit.length))
    return Splice(start, end, edit.text.encode())


def _is_proven(before: bytes, after: bytes, edits: Sequence[TextEdit]) -> bool:
    """Return whether the values that differ are those of the edits, and all others are as they were."""
    wanted = {(edit.path, _comparable(edit.value)) for edit in edits}
    lengths = {len(edit.path) for edit in edits}
    made = 0
    for old, new in zip_longest(documents("", before), documents("", after)):
        if isinstance(old, Diagnostic) and isinstance(new, Diagnostic):
            continue
        if not (isinstance(old, Document) and isinstance(new, Document) and old.number == new.number):
            return False
        for path, value in _differences(old.value, new.value, ()):
            # The paths of edits begin in the object, which may be an item of a list.
            if not any((path[len(path) - length :], _comparable(value)) in wanted for length in lengths):
                return False
            made += 1
    return made == len(edits)


def _comparable(value: object) -> object:
    """Return a scalar as text, since a number in quotes keeps them; a boolean and null stay."""
    return value if value is None or isinstance(value, bool) else str(value)


def _differences(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, object]]:
    """Yield the path and the new value of each scalar that differs; None, which no edit sets, for other values."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key, value in old.items():
            yield from _differences(value, new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, value in enumerate(old):
            yield from _differences(value, new[index], (*path, index))
    elif isinstance(old, dict | list) or isinstance(new, dict | list):
        yield path, None
    elif type(old) is not type(new) or old != new:
        yield path, new
