"""Objects with their edits, and the text of a file with them: comments, quotes, indentation and line breaks stay.

The edits of a document become changes of its text. They add to the text; what they take out is `[]`, `{}` or null. The
result is proven: each value of the new text is as the edits make it. Only block style is edited: no JSON, nothing in
braces or brackets, and no document with an alias.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.diagnostics import Diagnostic
from webhook.manifests import Document, Manifest, Position, documents
from webhook.manifests.stream import BOM, is_json
from webhook.manifests.text import BELOW, QUOTES, CollectionMark, Mark, Marks
from webhook.patch import Operation, pointer
from webhook.policy.verdict import Path
from webhook.report.data import yaml_text
from webhook.report.model import Subject


class Mutation(NamedTuple):
    """An object of a file, and the JSON Patch operations for it.

    `patch` applies them to a value that holds the object at a JSON pointer, and may change the value.
    """

    manifest: Manifest
    subject: Subject
    operations: Sequence[dict[str, Any]]
    patch: Callable[[Any, str], Any]

    def edited(self) -> Any:
        """Return the object with its edits.

        It may take far more memory than the object of the manifest, in which YAML aliases share their target, so
        formats hold one result at a time.
        """
        return self.patch(self.manifest.unshared(), "")


class EditedFile(NamedTuple):
    """Objects of a file, at least one."""

    mutations: Sequence[Mutation]

    @property
    def name(self) -> str:
        return self.mutations[0].manifest.file

    @property
    def data(self) -> bytes:
        return self.mutations[0].manifest.within.raw


class Splice(NamedTuple):
    """Bytes in place of those of a file from `start` to `end`."""

    start: int
    end: int
    new: bytes


class Rewritten(NamedTuple):
    """A document of a file, from `start` to `end`, with the splices that make the edits of its objects.

    `reason` says why its text cannot take them, and `position` where; then there are no splices.
    """

    mutations: tuple[Mutation, ...]
    start: int
    end: int
    splices: tuple[Splice, ...] = ()
    reason: str = ""
    position: Position | None = None

    def failures(self, consequence: str) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each object without its edits: what becomes of them, and what to do instead."""
        for one in self.mutations if self.reason else ():
            if one.operations:
                message = f"{one.subject}: {consequence}: {self.reason}; use -o yaml"
                yield Diagnostic(one.manifest.file, *(self.position or one.manifest.locate(())), message)


def rewrite(data: bytes, mutations: Iterable[Mutation]) -> Iterator[Rewritten]:
    """Yield the documents of a file that hold these objects, in its order.

    An edited document is read again. One that is then not what the edits make of it gets no splices.
    """
    lines = [0, *(found.end() for found in re.finditer(b"\n", data)), len(data)]
    cannot_be_edited = "JSON cannot be edited" if is_json(data) else ""
    for _, group in groupby(mutations, lambda mutation: mutation.manifest.document):
        held = tuple(group)
        text = held[0].manifest.within.text
        first = text.first_line - 1
        found = Rewritten(held, lines[first], lines[first + text.content.count("\n")], reason=cannot_be_edited)
        is_edited = any(mutation.operations for mutation in held) and not cannot_be_edited
        yield _edited(data, lines, found) if is_edited else found


def _edited(data: bytes, lines: Sequence[int], found: Rewritten) -> Rewritten:
    document = found.mutations[0].manifest.within
    try:
        splices = tuple(_splices(data, lines, document, found.mutations))
    except UneditableError as error:
        return found._replace(reason=str(error), position=document.text.position(error.offset))
    if _is_sound(data, found, splices):
        return found._replace(splices=splices)
    return found._replace(reason="its text cannot take the edits")


def _splices(data: bytes, lines: Sequence[int], document: Document, mutations: Sequence[Mutation]) -> Iterator[Splice]:
    wanted = Wanted()
    for mutation in mutations:
        wanted.want(mutation.manifest.path, mutation.manifest.value, mutation.operations)
    for change in changes(document.marks, wanted):
        places = (document.text.position(offset) for offset in (change.start, change.end))
        start, end = (_offset(data, lines, place) for place in places)
        text = change.text
        if text.endswith("\n"):  # lines end as the one above; a file without the last line break stays without
            if data[start - 1 : start] != b"\n":
                text = "\n" + text.removesuffix("\n")
            above = data.rfind(b"\n", 0, start)
            text = text.replace("\n", "\r\n") if data[above - 1 : above] == b"\r" else text
        yield Splice(start, end, text.encode())


def _offset(data: bytes, lines: Sequence[int], position: Position) -> int:
    """Return the offset of a position in a file whose lines start at these offsets. A byte order mark has no column."""
    start = lines[position.line - 1]
    while data.startswith(BOM, start):
        start += len(BOM)
    before = position.column - 1
    return start + len(data[start : start + 4 * before].decode(errors="ignore")[:before].encode())


def applied(data: bytes, splices: Iterable[Splice], start: int = 0, end: int | None = None) -> bytes:
    """Return the bytes of a file, or those between two offsets, with splices."""
    pieces, reached = [], start
    for splice in splices:
        pieces += [data[reached : splice.start], splice.new]
        reached = splice.end
    return b"".join([*pieces, data[reached:end]])


def _is_sound(data: bytes, found: Rewritten, splices: Iterable[Splice]) -> bool:
    """Return whether the text of a document with splices is one document, as the edits make it."""
    before = next(documents("", data[found.start : found.end]))
    after = list(documents("", applied(data, splices, found.start, found.end)))
    if not isinstance(before, Document) or len(after) != 1 or not isinstance(after[0], Document):
        return False
    wanted: Any = before.value
    for mutation in found.mutations:
        wanted = mutation.patch(wanted, pointer(mutation.manifest.path))
    return _canonical(wanted) == _canonical(after[0].value)


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


_COMMENT = re.compile("( *)#[^\n]*\n")
_EMPTY = re.compile(r"(?:[&!]\S*\s+)*+(\[\s*\]|\{\s*\})")
"""A mapping or list without entries, after its anchor and tag."""


class UneditableError(Exception):
    """A text that this package cannot edit, and the offset of the reason. The message is for the author of the file."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


Entries: TypeAlias = list[tuple[str | None, Any]]
"""New entries of a mapping or list, each with its key; None in a list."""


class Becomes(NamedTuple):
    """A new value in place of a null, or of a text to which the edits add entries: then `added` is the new end."""

    value: Any
    added: str


@dataclass(slots=True)
class Wanted:
    """What edits want of one value: a new value, new entries at its end, or something of the values inside."""

    becomes: Becomes | None = None
    entries: Entries = field(default_factory=list)
    inside: dict[str | int, Wanted] = field(default_factory=dict)

    def at(self, step: str | int) -> Wanted:
        """Return the node of the value at a key or an index, so that the caller can add to it."""
        return self.inside.setdefault(step, Wanted())

    def want(self, path: Path, whole: Any, operations: Iterable[Operation]) -> None:
        """Add the proven operations for the object at a path; `whole` is the object before the edits."""
        top = self
        for step in path:
            top = top.at(step)
        for operation in operations:
            *above, last = (token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")[1:])
            wanted, value, new = top, whole, operation["value"]
            for key in above:
                step = int(key) if isinstance(value, list) else key
                wanted, value = wanted.at(step), value[step]
            if isinstance(value, list):
                wanted.entries.append((None, new))
            elif last in value:
                wanted.at(last).becomes = Becomes(new, new.removeprefix(value[last]) if value[last] else "")
            else:
                wanted.entries.append((last, new))


class Change(NamedTuple):
    """Text in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def changes(marks: Marks, wanted: Wanted) -> list[Change]:
    """Return the changes that make the edits, in the order of the text. Raises UneditableError."""
    if marks.aliases:
        raise UneditableError("a document with an alias cannot be edited", marks.aliases[0].start)
    made = _Changer(marks).edit(marks.top.inside[0], wanted, marks.top)
    # Of several at one place, the change of the innermost value comes first.
    return sorted(made, key=attrgetter("start"))


class _Changer:
    def __init__(self, marks: Marks) -> None:
        self.marks = marks
        self.content = marks.content
        self.layout = Layout(marks.indents.get(dict, 2), marks.indents.get(list, 0))

    def edit(self, mark: Mark, wanted: Wanted, holder: CollectionMark) -> Iterator[Change]:
        """Yield the changes of a value, those of the values inside first. Raises UneditableError."""
        if wanted.becomes is not None:
            yield from self._become(mark, wanted.becomes, holder)
        elif isinstance(mark, CollectionMark):
            for step, one in wanted.inside.items():
                inner = mark.at(step)
                if inner is not None:
                    yield from self.edit(inner, one, mark)
            if wanted.entries:
                yield from self._append(mark, wanted.entries, holder)

    def _become(self, mark: Any, becomes: Becomes, holder: CollectionMark) -> Iterator[Change]:
        """Yield the changes that give a scalar its new value."""
        start, end = mark.start, mark.end
        if holder.is_flow:
            raise UneditableError(_FLOW_STYLE, holder.start)
        if mark.style in BELOW:
            raise UneditableError("a text on lines of its own cannot be edited", start)
        if start == end and self.content[start - 1] != ":":
            key = len(self.content[:start].rstrip())
            raise UneditableError('a key after "?" has no value; write ": null" below it', key)
        if becomes.added:
            place = end - 1 if mark.style in QUOTES else end
            yield Change(place, place, becomes.added)
        elif is_filled(becomes.value):
            yield from self._below(start, end, becomes.value, holder)
        else:
            yield Change(start, end, f"{' ' if start == end else ''}{_scalar(becomes.value)}")

    def _append(self, mark: CollectionMark, entries: Entries, holder: CollectionMark) -> Iterator[Change]:
        """Yield the changes that add entries to a mapping or list."""
        value: Any = dict(entries) if isinstance(mark.inside, dict) else [one for _, one in entries]
        if not mark.is_flow:
            below, column = self._line_after(self.marks.end_of(mark)), mark.column
            if isinstance(mark.inside, list) and isinstance(holder.inside, dict) and column == holder.column:
                column += 1  # a comment that is not indented is about the next key
            # Comments below the collection that are indented like its entries belong to it.
            while (found := _COMMENT.match(self.content, below)) and len(found[1]) >= column:
                below = found.end()
            yield Change(below, below, "".join(self.layout.block(value, mark.column)))
            return
        empty = _EMPTY.match(self.content, mark.start)
        if holder.is_flow or empty is None or not isinstance(holder.inside, dict):
            raise UneditableError(_FLOW_STYLE, mark.start)
        yield from self._below(empty.start(1), empty.end(), value, holder)

    def _below(self, start: int, end: int, value: Any, holder: CollectionMark) -> Iterator[Change]:
        """Yield the changes that write a collection in block style below the line of the text that it replaces."""
        below = self._line_after(end)
        if start < end:
            while self.content[start - 1] in " \t":
                start -= 1
            yield Change(start, end, "")
        yield Change(below, below, "".join(self.layout.block(value, holder.column + self.layout.indent(value))))

    def _line_after(self, end: int) -> int:
        """Return the start of the line after the one where a value ends. A text in block style ends with its line."""
        return end if self.content[end - 1] == "\n" else self.content.index("\n", end) + 1


_FLOW_STYLE = "a mapping or list in braces or brackets cannot be edited"


class Layout(NamedTuple):
    """How a text lays out its collections: the indents of a mapping and of a list below the key that holds them.

    Where the text shows no block collection, lists are not indented.
    """

    mapping_indent: int = 2
    list_indent: int = 0

    def indent(self, value: Any) -> int:
        """Return the indent of a collection in block style below the key that holds it."""
        return self.mapping_indent if isinstance(value, dict) else self.list_indent

    def block(self, value: Any, column: int, lead: str = "") -> Iterator[str]:
        """Yield the lines of a filled mapping or list in block style whose entries are at a column.

        Each line has its line break, and the first one begins with `lead` in place of blanks.
        """
        lead = lead or " " * column
        for key, one in value.items() if isinstance(value, dict) else ((None, one) for one in value):
            if key is None and is_filled(one):
                yield from self.block(one, column + 2, f"{lead}- ")
            elif is_filled(one):
                yield f"{lead}{_key(key)}\n"
                yield from self.block(one, column + self.indent(one))
            else:
                written = f"- {_scalar(one)}" if key is None else f"{_key(key)} {_scalar(one)}"
                yield lead + written.replace("\n", f"\n{' ' * column}") + "\n"
            lead = " " * column


def is_filled(value: Any) -> bool:
    """Return whether a value is a mapping or list with entries, which block style needs."""
    return isinstance(value, dict | list) and bool(value)


_LONGEST = 256
"""Characters of a text whose YAML is kept. The edits of all pods are much alike."""


def _scalar(value: Any) -> str:
    """Return a scalar, or a collection without entries, as the value of a key."""
    return _known(value) if isinstance(value, str) and len(value) <= _LONGEST else _written(value)


def _key(key: str | None) -> str:
    text = str(key)
    is_simple = len(text) <= _SIMPLE and "\n" not in _known(text)
    return f"{_known(text)}:" if is_simple else yaml_text({text: None}).removesuffix(" null\n")


_SIMPLE = 100
"""Characters of a key that YAML takes without a question mark before it, with room for escapes."""


@lru_cache(maxsize=1024)
def _known(text: str) -> str:
    return _written(text)


def _written(value: Any) -> str:
    return yaml_text([value])[2:-1]
