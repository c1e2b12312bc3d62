"""The requested edits as a tree, keyed by path, and the values in the text that they concern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from webhook.manifests.marks import AliasMark, CollectionMark, Mark, Marks
from webhook.patch import Operation
from webhook.policy.verdict import Path


class UneditableError(Exception):
    """A text that this package cannot edit. The message says why, for the author of the file."""


Entries: TypeAlias = list[tuple[str | None, Any]]
"""New entries of a mapping or list, each with its key; None in a list."""


@dataclass(slots=True)
class Becomes:
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

    def want(self, path: Path, value: Any, operations: Iterable[Operation]) -> None:
        """Add the proven operations for the object at a path; `value` is the object before the edits."""
        wanted = self
        for step in path:
            wanted = wanted.at(step)
        for operation in operations:
            tokens = operation["path"].split("/")[1:]
            keys = [token.replace("~1", "/").replace("~0", "~") for token in tokens]
            wanted.add(value, keys, operation["value"])

    def add(self, value: Any, keys: list[str], new: Any) -> None:
        """Add one operation: `new` at the path `keys` of `value`."""
        wanted = self
        for key in keys[:-1]:
            step = int(key) if isinstance(value, list) else key
            wanted, value = wanted.at(step), value[step]
        last = keys[-1]
        if isinstance(value, list):
            wanted.entries.append((None, new))
        elif last in value:
            wanted.at(last).becomes = Becomes(new, _end(value[last], new))
        else:
            wanted.entries.append((last, new))


def _end(old: Any, new: Any) -> str:
    """Return the new end of a text; empty for other values, and for a text that becomes another one."""
    is_longer = isinstance(old, str) and old and isinstance(new, str) and new.startswith(old)
    return new[len(old) :] if is_longer else ""


def follow(value: Any, path: Path) -> Any:
    """Return the value at a path. Raises UneditableError where there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            raise UneditableError("a merge key hides a value that the edits need") from None
    return value


class Values:
    """The values of a document before and after the edits; `edited` makes those of the edited objects, by path."""

    def __init__(self, original: Any, edited: Mapping[Path, Callable[[], Any]]) -> None:
        self.original = original
        self._edited = edited
        self._made: dict[Path, Any] = {}
        self._above = {path[:length] for path in edited for length in range(len(path))}

    def after(self, path: Path) -> Any:
        """Return the value at a path after the edits. Raises UneditableError for one that holds edited objects."""
        for length in range(len(path), -1, -1):
            if path[:length] in self._edited:
                return follow(self._object(path[:length]), path[length:])
        if path in self._above:
            raise UneditableError("an alias stands for a list of objects that get edits; write the list out")
        return follow(self.original, path)

    def _object(self, path: Path) -> Any:
        if path not in self._made:
            self._made[path] = self._edited[path]()
        return self._made[path]


@dataclass(frozen=True, slots=True)
class TextNode:
    """A value in the text that edits concern, or an alias, and what edits want of it.

    `start` and `end` of a missing value follow the colon or the dash. `column` is that of the keys of the block mapping
    that holds it; None for an element of a list, and within brackets.
    """

    mark: Mark
    path: Path
    depth: int
    in_flow: bool
    column: int | None
    start: int
    wanted: Wanted

    @property
    def end(self) -> int:
        return self.mark.end


def edited_nodes(marks: Marks, wanted: Wanted) -> list[TextNode]:
    """Return the values of which something is wanted, in the order of the text."""
    return sorted(_edited(marks.top.inside[0], wanted, marks.top, ()), key=lambda node: node.start)


def _edited(mark: Mark, wanted: Wanted, holder: CollectionMark, path: Path) -> Iterator[TextNode]:
    column = holder.column if isinstance(holder.inside, dict) and not holder.is_flow else None
    start = mark.start if isinstance(mark, CollectionMark) else min(mark.start, mark.end)
    yield TextNode(mark, path, len(path), holder.is_flow, column, start, wanted)
    if isinstance(mark, CollectionMark):
        for step, one in wanted.inside.items():
            if (inner := mark.own(step)) is not None:
                yield from _edited(inner, one, mark, (*path, step))


def alias_node(alias: AliasMark) -> TextNode:
    """Return the node of an alias that edits do not concern."""
    return TextNode(alias, (), alias.depth, alias.in_flow, alias.column, alias.start, Wanted())
