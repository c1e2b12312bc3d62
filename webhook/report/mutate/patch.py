"""The edits as JSON Patch (RFC 6902): of a single object the operations, of several a list that names each object."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent
from typing import Any

from webhook.report.data import json_text
from webhook.report.mutation_writer import Mutation


class PatchWriter:
    """Writes operations when it knows whether more objects follow."""

    def __init__(self) -> None:
        self._first: Mutation | None = None
        self._is_list = False

    def add(self, mutation: Mutation) -> Iterator[str]:
        """Yield the text for an object, after that of the first one."""
        if self._is_list:
            yield ",\n" + _item(mutation)
        elif self._first is None:
            self._first = mutation
        else:
            yield "[\n" + _item(self._first)
            yield ",\n" + _item(mutation)
            self._is_list = True

    def end(self) -> Iterator[str]:
        """Yield the end of the list, or the operations of the only object; no text where there is no object."""
        if self._is_list:
            yield "\n]\n"
        elif self._first is not None:
            yield json_text(self._first.operations)


def _item(mutation: Mutation) -> str:
    named: dict[str, Any] = {
        "file": mutation.manifest.file,
        "document": mutation.manifest.document,
        "object": mutation.subject.as_data(),
        "patch": mutation.operations,
    }
    return indent(json_text(named).rstrip("\n"), "  ")
