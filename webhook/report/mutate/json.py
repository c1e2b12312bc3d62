"""The edited objects as JSON, or their edits as JSON Patch (RFC 6902): one by itself, several as a list."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report.data import JsonItems, json_text
from webhook.report.mutate import MutationWriter
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


class PatchWriter(JsonMutations):
    """Writes the operations of each object; in a list, with the object that they are for."""

    head = "["
    tail = "\n"
    indent = 2

    def item(self, mutation: Mutation) -> object:
        return {
            "file": mutation.manifest.file,
            "document": mutation.manifest.document,
            "object": mutation.subject.as_data(),
            "patch": mutation.operations,
        }

    def single(self, mutation: Mutation) -> object:
        return mutation.operations
