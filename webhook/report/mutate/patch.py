"""The edits as JSON Patch (RFC 6902): of a single object the operations, of several a list that names each object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.report.data import json_text
from webhook.report.mutation import Mutation


def write(mutations: Sequence[Mutation]) -> Iterator[str]:
    """Yield the text; no text at all where there is no object."""
    if len(mutations) == 1:
        yield json_text(mutations[0].operations)
    elif mutations:
        yield json_text([_named(mutation) for mutation in mutations])


def _named(mutation: Mutation) -> dict[str, Any]:
    return {
        "file": mutation.file,
        "document": mutation.document,
        "object": mutation.subject.as_data(),
        "patch": mutation.operations,
    }
