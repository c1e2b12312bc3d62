"""The edited objects as JSON: a single object by itself, several as one List."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from webhook.report.data import json_text
from webhook.report.mutation_writer import Mutation

_HEAD = '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n'


class JsonMutations:
    """Writes an object when it knows whether more follow."""

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
            yield _HEAD + _item(self._first)
            yield ",\n" + _item(mutation)
            self._is_list = True

    def end(self) -> Iterator[str]:
        """Yield the end of the list, or the only object; no text where there is no object."""
        if self._is_list:
            yield "\n  ]\n}\n"
        elif self._first is not None:
            yield json_text(self._first.edited())


def _item(mutation: Mutation) -> str:
    return indent(json_text(mutation.edited()).rstrip("\n"), "    ")
