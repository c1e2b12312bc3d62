"""The edits as a unified diff of each object's YAML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.report import yaml_diff
from webhook.report.mutation import Mutation
from webhook.report.paint import Paint, plain


def write(mutations: Sequence[Mutation], paint: Paint = plain) -> Iterator[str]:
    """Yield the diff of each object; no text for an object without edits."""
    for mutation in mutations:
        title = f"{mutation.file} {mutation.subject}"
        yield yaml_diff.write(title, mutation.original, mutation.edited(), paint)
