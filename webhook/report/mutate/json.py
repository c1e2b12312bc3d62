"""The edited objects as JSON: a single object by itself, several as one List."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.report.data import json_text
from webhook.report.mutation import Mutation


def write(mutations: Sequence[Mutation]) -> Iterator[str]:
    """Yield the text, one object at a time; no text at all where there is no object."""
    if len(mutations) == 1:
        yield json_text(mutations[0].edited())
    elif mutations:
        yield '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": ['
        for index, mutation in enumerate(mutations):
            item = json_text(mutation.edited()).rstrip().replace("\n", "\n    ")
            yield f"{',' if index else ''}\n    {item}"
        yield "\n  ]\n}\n"
