"""Go programs of the benchmarks: the load generator and the peers, in the cache of the cluster tests.

`python -m bench.gotools` builds those that tests need, so that no test pays for a compiler.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of
from tests.cluster.harness.gobuild import FLAGS, build

BENCH = Path(__file__).parent

OF_TESTS = ("load", "peers/gowebhook")
"""The folders of the programs that tests start."""

__all__ = ["OF_TESTS", "ToolsMissingError", "go_program"]


def recipe(folder: str, package: str = ".") -> Recipe:
    """The folder of the cache with the program of a Go module in `bench/`, or of a package that it requires."""
    source = BENCH / folder
    key = key_of(source, *FLAGS)
    return Recipe(f"bench-{source.name}", key, lambda made: build(source, made / source.name, package=package))


def go_program(folder: str, package: str = ".") -> Path:
    """The program, built where it is missing. Raises ToolsMissingError."""
    return recipe(folder, package).make() / Path(folder).name


def main() -> int:
    """Build what is missing, and print the paths."""
    try:
        print(*map(go_program, OF_TESTS), sep="\n")
    except ToolsMissingError as problem:
        print(f"bench-tools: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
