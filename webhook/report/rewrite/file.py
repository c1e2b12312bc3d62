"""The bytes of a file with the edits of its objects, proven: each value of the new bytes is as the edits make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

import msgspec

from webhook.diagnostics import Diagnostic
from webhook.manifests import Document, Position, documents
from webhook.manifests.marks import Marks
from webhook.report.mutation_writer import Mutation
from webhook.report.rewrite.changes import Change, changes
from webhook.report.rewrite.wanted import UneditableError, Values, Wanted

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Splice:
    """Bytes in place of those of a file from `start` to `end`."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """An object whose text cannot take its edits, and why."""

    mutation: Mutation
    reason: str

    def diagnostic(self, consequence: str) -> Diagnostic:
        """Return the diagnostic for the object, which says what becomes of the edits."""
        return self.mutation.manifest.diagnostic((), f"{self.mutation.subject}: {consequence}: {self.reason}")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The splices that make the edits of a file, in order, and each object that does not get its edits."""

    splices: tuple[Splice, ...]
    failures: tuple[Failure, ...]


def rewrite(data: bytes, mutations: Sequence[Mutation]) -> Rewritten:
    """Return the splices for mutations of a file, in its order.

    An edited file is read again. An object that is then not what the edits make of it gets no splices.
    """
    edits: list[_Edited] = []
    failures: list[Failure] = []
    cursor = Cursor(data)
    for number, group in groupby((one for one in mutations if one.operations), lambda one: one.manifest.document):
        edited = tuple(group)
        try:
            edits.append(_Edited(number, edited, tuple(_splices(cursor, edited[0].manifest.within, edited))))
        except UneditableError as error:
            failures += [Failure(one, str(error)) for one in edited]
    numbers = _wrong(data, edits)
    if numbers:
        sound = [one for one in edits if one.number not in numbers]
        # If that is not enough, no edit of the file is certain.
        refused = edits if _wrong(data, sound) else [one for one in edits if one.number in numbers]
        edits = [] if refused is edits else sound
        failures += [Failure(one, "its text cannot take the edits") for edit in refused for one in edit.mutations]
    return Rewritten(tuple(splice for edit in edits for splice in edit.splices), tuple(failures))


@dataclass(frozen=True, slots=True)
class _Edited:
    """The splices for one document."""

    number: int
    mutations: tuple[Mutation, ...]
    splices: tuple[Splice, ...]


def _splices(cursor: Cursor, document: Document, mutations: Sequence[Mutation]) -> Iterator[Splice]:
    begin, end = (cursor.offset(position) for position in document.extent)
    content = cursor.data[begin:end].decode()
    whole = content if document.is_json or content.endswith("\n") else f"{content}\n"
    wanted = Wanted()
    for one in mutations:
        wanted.want(one.manifest.path, one.manifest.value, one.operations)
    marks = Marks(whole, 0, is_json=document.is_json).whole()
    values = Values(document.value, {one.manifest.path: one.edited for one in mutations})
    reached, place = 0, begin
    for change in changes(marks, wanted, values):
        start, end = min(change.start, len(content)), min(change.end, len(content))
        place += len(content[reached:start].encode())
        taken = len(content[start:end].encode())
        yield Splice(place, place + taken, _new_text(whole, change, len(content)).encode())
        reached, place = end, place + taken


_LONG_LINE = 4096


def _new_text(whole: str, change: Change, length: int) -> str:
    """Return the new text with the line breaks of the line above; a file without the last one stays without."""
    text = change.text
    if change.start > length:
        text = "\n" + text.removesuffix("\n")
    if "\n" not in text:
        return text
    above = whole.rfind("\n", max(0, change.start - _LONG_LINE), change.start)
    if above < 0:
        above = whole.find("\n", change.start, change.start + _LONG_LINE)
    return text.replace("\n", "\r\n") if above > 0 and whole[above - 1] == "\r" else text


_BLOCK = 4096
"""Bytes whose line breaks are counted at once."""


class Cursor:
    """Finds positions in the bytes of a file, one after the other. Byte order marks belong to no line."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._line = self._column = 1
        self._offset = self._past_marks(0)

    def offset(self, position: Position) -> int:
        """Return the offset of a position that is not before the last one."""
        if self._line < position.line:
            self._offset = self._past_marks(self._after_lines(position.line - self._line))
            self._line, self._column = position.line, 1
        characters = position.column - self._column
        ahead = self.data[self._offset : self._offset + 4 * characters].decode(errors="ignore")
        self._offset += len(ahead[:characters].encode())
        self._column = position.column
        return self._offset

    def _after_lines(self, lines: int) -> int:
        offset = self._offset
        while offset < len(self.data) and (some := self.data.count(b"\n", offset, offset + _BLOCK)) < lines:
            offset, lines = offset + _BLOCK, lines - some
        for _ in range(lines):
            offset = self.data.find(b"\n", offset) + 1 or len(self.data)
        return min(offset, len(self.data))

    def _past_marks(self, offset: int) -> int:
        while self.data.startswith(_BOM, offset):
            offset += len(_BOM)
        return offset


def applied(data: bytes, splices: Iterable[Splice], start: int = 0, end: int | None = None) -> bytes:
    """Return the bytes of a file, or those between two offsets, with splices."""
    pieces, reached = [], start
    for splice in splices:
        pieces += [data[reached : splice.start], splice.new]
        reached = splice.end
    return b"".join([*pieces, data[reached:end]])


def _wrong(data: bytes, edits: Sequence[_Edited]) -> set[int]:
    """Return the numbers of the documents of a file that are not as the edits make them; 0 if a document appears.

    All other values must be as they were.
    """
    if not edits:
        return set()
    after = applied(data, (splice for edited in edits for splice in edited.splices))
    mutations = {edited.number: edited.mutations for edited in edits}
    found: set[int] = set()
    for old, new in zip_longest(documents("", data), documents("", after)):
        if isinstance(old, Diagnostic) and isinstance(new, Diagnostic):
            continue
        if not (isinstance(old, Document) and isinstance(new, Document) and old.number == new.number):
            # From here on, the two no longer go together.
            return found | {old.number if isinstance(old, Document) else 0}
        if not _agree(old.value, new.value, _by_path(mutations.get(old.number, ()))):
            found.add(old.number)
    return found


def _by_path(mutations: Sequence[Mutation]) -> Any:
    """Return the mutations of a document in mappings by the steps of their paths. No object is inside another."""
    tree: Any = {}
    for one in mutations:
        if not one.manifest.path:
            return one
        *above, last = one.manifest.path
        inner = tree
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = one
    return tree


def _agree(old: Any, new: Any, edited: Any) -> bool:
    """Return whether a value has become what the edits make of it."""
    if isinstance(edited, Mutation):
        return _canonical(_without_implied(edited.edited(), old)) == _canonical(new)
    if not edited:
        return _canonical(old) == _canonical(new)
    if type(old) is not type(new) or len(old) != len(new):
        return False
    keys = old if isinstance(old, dict) else range(len(old))
    return all(
        (key in new if isinstance(new, dict) else True) and _agree(old[key], new[key], edited.get(key)) for key in keys
    )


def _without_implied(value: Any, old: Any) -> Any:
    """Return an edited object with the kind and the version of the text: a list implies those of its items."""
    kept = {key: one for key, one in value.items() if key not in _IMPLIED}
    return {**kept, **{key: old[key] for key in _IMPLIED if key in old}}


_IMPLIED = ("apiVersion", "kind")


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
