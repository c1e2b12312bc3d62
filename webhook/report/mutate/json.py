"""The edited objects as JSON: a single object by itself, several as one List."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report.data import JsonItems, json_text
from webhook.report.mutation import MutationWriter
from webhook.report.rewrite import EditedFile, Mutation


class JsonMutations(MutationWriter):
    """Writes an object when it knows whether more follow."""

    head = '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": ['
    tail = "\n}\n"
    indent = 4

    def __init__(self) -> None:
        self._first: Mutation | None = None
        self._items: JsonItems | None = None

    def item(self, mutation: Mutation) -> object:
        """Return the item of the list for an object."""
        return mutation.edited()

    def single(self, mutation: Mutation) -> object:
        """Return the value for the only object."""
        return mutation.edited()

    def file(self, edited: EditedFile) -> Iterator[str]:
        for mutation in edited.mutations:
            if self._first is None:
                self._first = mutation
                continue
            if self._items is None:
                self._items = JsonItems(self.head, self.indent)
                yield self._items.add(self.item(self._first))
            yield self._items.add(self.item(mutation))

    def end(self) -> Iterator[str]:
        if self._items is not None:
            yield self._items.end() + self.tail
        elif self._first is not None:
            yield json_text(self.single(self._first))
