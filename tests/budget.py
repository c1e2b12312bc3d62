"""The processor time of the tests by folder, compared with the committed figures: `python -m tests.budget`.

`accept` as an argument writes the figures of the last run of `make test test-load test-chart test-cluster` to
tests/budget.toml.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.record import EXHAUSTIVE, Record, read

_FILE = Path(__file__).with_name("budget.toml")
_RECORDS = Path(__file__).parents[1] / "build" / "tests"
_TOLERATED = 1.25
"""How much more than its budget a folder may cost."""

_FLOOR = 3.0
"""Seconds that a folder may cost beyond that: small figures vary more."""

_FILES = 99
"""A depth that no folder has, so that the names are those of files."""

_NAMED = 20
"""The files that are named where a folder is above its budget."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The tests of a folder, and their processor time in seconds of the standard machine."""

    tests: int
    seconds: float


Costs: TypeAlias = dict[str, Cost]


def costs(records: Iterable[Record], depth: int = 2) -> Costs:
    """The costs by folder of this depth. The exhaustive tests have none: only `make test-all` runs them."""
    tests: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for record in records:
        for file in record.tests.keys() - {EXHAUSTIVE}:
            folder = "/".join(file.split("/")[:depth])
            tests[folder] += record.tests[file]
            seconds[folder] += record.seconds[file]
    return {folder: Cost(tests[folder], seconds[folder]) for folder in sorted(tests)}


def dearest(records: Iterable[Record]) -> Iterator[str]:
    """Lines that name the files with the most processor time."""
    files = sorted(costs(records, _FILES).items(), key=lambda one: one[1].seconds, reverse=True)
    return (f"{file}: {cost.seconds:.1f} s" for file, cost in files[:_NAMED])


def compared(found: Costs, budget: Costs) -> Iterator[tuple[str, bool]]:
    """Lines of a table, each with whether its folder keeps to the budget."""
    yield f"{'folder':20} {'tests':>6} {'before':>6} {'CPU s':>7} {'budget':>7}", True
    for folder in sorted(found.keys() | budget.keys()):
        new, old = found.get(folder), budget.get(folder)
        if old is None:
            yield f"{folder:20} has no budget: python -m tests.budget accept", False
        elif new is None:
            yield f"{folder:20} did not run", False
        else:
            keeps = new.seconds <= old.seconds * _TOLERATED + _FLOOR
            line = f"{folder:20} {new.tests:6} {old.tests:6} {new.seconds:7.1f} {old.seconds:7.1f}"
            yield line if keeps else f"{line}  above the budget", keeps


def written(found: Costs) -> str:
    """The text of the file with the budget."""
    lines = ["# Written by `python -m tests.budget accept`.\n[folders]"]
    lines += [f'"{folder}" = {{ tests = {one.tests}, seconds = {one.seconds:.1f} }}' for folder, one in found.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the comparison, or accept. The machine decides a part of the figures, so that nothing fails."""
    records = [read(file) for file in sorted(_RECORDS.glob("*.json"))]
    found = costs(records)
    if sys.argv[1:] == ["accept"]:
        _FILE.write_text(written(found))
        return
    budget = {folder: Cost(**one) for folder, one in tomllib.loads(_FILE.read_text())["folders"].items()}
    lines = list(compared(found, budget))
    print(*(line for line, _ in lines), sep="\n")
    if not all(keeps for _, keeps in lines):
        print("The files with the most processor time:", *dearest(records), sep="\n  ")
        print("CONTRIBUTING.md, section Tests, says how to pay for a test.")


if __name__ == "__main__":
    main()
