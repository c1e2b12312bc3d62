"""Go programs of the benchmarks: the load generator and the peers, in the cache of the cluster tests."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of
from tests.cluster.harness.gobuild import FLAGS, build

BENCH = Path(__file__).parent

__all__ = ["ToolsMissingError", "go_program"]


def go_program(folder: str) -> Path:
    """The program of the Go module in a folder of `bench/`, built where it is missing. Raises ToolsMissingError."""
    source = BENCH / folder
    recipe = Recipe(
        f"bench-{source.name}", key_of(source, *FLAGS), lambda finished: build(source, finished / source.name)
    )
    return recipe.make() / source.name
