"""The edited objects as a stream of YAML documents, which `kubectl apply -f -` reads."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report.data import yaml_text
from webhook.report.mutation_writer import Mutation

_SEPARATOR = "---\n"


class YamlMutations:
    """Writes one document for each object."""

    def __init__(self) -> None:
        self._before = ""

    def add(self, mutation: Mutation) -> Iterator[str]:
        yield self._before + yaml_text(mutation.edited())
        self._before = _SEPARATOR

    def end(self) -> Iterator[str]:
        return iter(())
