"""Values of a built object, each with the file and the place that say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from webhook.diagnostics import KEY, Diagnostic
from webhook.manifests.manifest import Comment, Document, Manifest, Origin
from webhook.manifests.text import FILE, Marks, ScalarMark, SourceText
from webhook.policy.verdict import Path


class UnbuiltError(Exception):
    """A kustomization that kustomize would not build, or that is not followed: the place that says so, and why."""

    def __init__(self, why: Diagnostic) -> None:
        super().__init__(str(why))
        self.why = why


class MissingError(UnbuiltError):
    """A file that is not there."""


class ReferrerError(UnbuiltError):
    """A kustomization that is not built because of those that include it."""


class Source(NamedTuple):
    """Where a value comes from, and its members or items that come from elsewhere.

    The others come from below the same place. Values are shared between objects, so nothing is ever changed in place.
    """

    origin: Origin
    parts: Mapping[str | int, Source] = {}

    def below(self, step: str | int) -> Source:
        return self.parts.get(step) or Source(self.origin.below(step))


class Node(NamedTuple):
    """A value and its source."""

    value: Any
    source: Source

    @property
    def members(self) -> dict[str, Any]:
        """The members of a mapping; none for any other value."""
        return self.value if isinstance(self.value, dict) else {}

    def at(self, step: str | int) -> Node:
        """Return a member or an item, which exists."""
        return Node(self.value[step], self.source.below(step))

    def items(self) -> list[Node]:
        """Return the items of a list; none for any other value."""
        return [self.at(index) for index in range(len(self.value))] if isinstance(self.value, list) else []

    def holding(self, members: Mapping[str, Node]) -> Node:
        """Return the mapping with these members instead of, or beside, its own."""
        sources: dict[str | int, Source] = {key: one.source for key, one in members.items()}
        value = self.members | {key: one.value for key, one in members.items()}
        return Node(value, self.source._replace(parts={**self.source.parts, **sources}))

    def of_items(self, items: Sequence[Node]) -> Node:
        """Return the list with other items."""
        sources: dict[str | int, Source] = {index: one.source for index, one in enumerate(items)}
        return Node([one.value for one in items], self.source._replace(parts=sources))

    def without(self, *keys: str) -> Node:
        """Return the mapping without some members."""
        return self._replace(value={key: one for key, one in self.value.items() if key not in keys})

    def put(self, path: Sequence[str], one: Node) -> Node:
        """Return the mapping with a value at a path; what is missing above it, or is no mapping, becomes one."""
        key, *rest = path
        if rest:
            inner = self.at(key) if isinstance(self.members.get(key), dict) else Node({}, one.source)
            one = inner.put(rest, one)
        return self.holding({key: one})

    def extended(self, path: Sequence[str], members: Mapping[str, Node]) -> Node:
        """Return the mapping with more members in the mapping at a path."""
        if not members:
            return self
        held = self.get(*path)
        if held is None or not isinstance(held.value, dict):
            held = Node({}, next(iter(members.values())).source)
        return self.put(path, held.holding(members))

    def members_at(self, *path: str) -> dict[str, Node]:
        """Return the members of the mapping at a path; none where there is no mapping."""
        found = self.get(*path)
        return {} if found is None else {key: found.at(key) for key in found.members}

    def get(self, *path: str) -> Node | None:
        """Return the value at a path; None where there is none."""
        node = self
        for step in path:
            if step not in node.members:
                return None
            node = node.at(step)
        return node

    def about(self, message: str) -> Diagnostic:
        """Return a diagnostic at the place of the value."""
        origin = self.source.origin
        return Diagnostic(origin.file, *origin.position, message)

    def error(self, why: str) -> UnbuiltError:
        return UnbuiltError(self.about(why))


def of_document(file: str, document: Document) -> Node:
    """Return the value of a document."""
    return Node(document.value, Source(Origin(file, document, ())))


def text_of(file: str, text: str) -> Node:
    """Return the text of a whole file as a value."""
    marks = Marks(text)
    marks.top.inside.append(ScalarMark(0, len(text), FILE))
    return of_document(file, Document(1, SourceText(text), text, 0, marks, _comments=()))


@lru_cache(maxsize=64)
def _comments(file: str, document: Document) -> tuple[Comment, ...]:
    """Return the comments of a document, once for all objects that have values of it."""
    return tuple([one._replace(file=file) for one in document.comments])


@dataclass(eq=False, repr=False, slots=True, kw_only=True)
class Built(Manifest):
    """An object that a kustomization builds. `parts` says where its values come from, `overlay` is the kustomization.

    Its file is the one that its base, or its generator, stands in.
    """

    parts: Source
    overlay: str

    @classmethod
    def of(cls, node: Node, overlay: str) -> Built:
        file, document, path = node.source.origin
        return cls(file, document, path, node.value, parts=node.source, overlay=overlay)

    @property
    def source(self) -> str:
        return self.overlay

    def origin(self, path: Path) -> Origin:
        """Return where the value at a path comes from, or that of its nearest ancestor."""
        source: Source = self.parts
        value: Any = self.value
        for step in path:
            is_item = isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
            if step == KEY or not (is_item or (isinstance(value, dict) and step in value)):
                return source.origin.below(KEY) if step == KEY else source.origin
            source, value = source.below(step), value[step]
        return source.origin

    def below(self, path: Path, value: dict[str, Any]) -> Manifest:
        source = self.parts
        for step in path:
            source = source.below(step)
        return Built.of(Node(value, source), self.overlay)

    @property
    def comments(self) -> tuple[Comment, ...]:
        """The comments of the base that are about this object, and all of the other documents that it has values of."""
        seen = {id(self.within)}
        # The zero-argument form of `super` does not work in a dataclass with slots.
        found = [*super(Built, self).comments] if not isinstance(self.within.value, str) else []
        pending = [self.parts]
        while pending:
            origin, parts = pending.pop()
            pending += parts.values()
            if id(origin.document) not in seen:
                seen.add(id(origin.document))
                found += _comments(origin.file, origin.document)
        return tuple(found)
