"""docs/explanation/performance.md, rendered from the committed results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.candidates import WEBHOOK
from bench.results import FOLDER, Bar, Figure, Ratio, Results, load
from bench.suites import SUITES, Suite
from bench.table import number, ratio

DOCS = Path(__file__).parents[1] / "docs" / "explanation"
PAGE = DOCS / "performance.md"
PROSE = Path(__file__).parent / "prose"


def committed() -> dict[str, Results]:
    """The results that the page shows, by suite."""
    return {suite.name: load(suite.name) for suite in SUITES if (FOLDER / f"{suite.name}.json").exists()}


def render(results: Mapping[str, Results]) -> str:
    """The page: what it is, the goals, a section for each suite, and what is measured elsewhere."""
    sections = [_section(suite, results[suite.name]) for suite in SUITES if suite.name in results]
    parts = [(PROSE / "intro.md").read_text(), _goals(results), *sections]
    parts += [(PROSE / "elsewhere.md").read_text(), _runs(results)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def write() -> None:
    """Write the page."""
    PAGE.write_text(render(committed()))


def _section(suite: Suite, found: Results) -> str:
    text = suite.section(found).rstrip()
    notes = "".join(f"\n- {note}" for note in found.notes if note not in text)
    return f"{text}\n{notes}"


def _goals(results: Mapping[str, Results]) -> str:
    measured: list[Figure | Ratio] = []
    for found in results.values():
        measured += [*found.ratios, *found.figures]
    barred = [(item, item.bar) for item in measured if item.bar is not None]
    missed: dict[str, list[str]] = {}
    for item, bar in barred:
        if not bar.holds(item.spread.middle):
            quantity, shown = _missed(item, bar)
            missed.setdefault(quantity, []).append(shown)
    lines = "\n".join(f"- {quantity}: {', '.join(shown)}" for quantity, shown in missed.items())
    met = len(barred) - sum(map(len, missed.values()))
    return f"""## Goals

A goal is met when the median of the rounds meets it: {met} of {len(barred)} are. These are not:

{lines}
"""


def _missed(item: Figure | Ratio, bar: Bar) -> tuple[str, str]:
    """The quantity, and the case with its median and its goal."""
    subject = "" if item.subject == WEBHOOK else f" of {item.subject}"
    if isinstance(item, Ratio):
        return f"{item.quantity}{subject} / {item.over}", f"{item.case} {ratio(item.spread.middle)} ({bar})"
    return f"{item.quantity}{subject}, {item.unit}", f"{item.case} {number(item.spread.middle)} ({bar})"


def _runs(results: Mapping[str, Results]) -> str:
    machines = sorted({found.machine.describe() for found in results.values()})
    skipped = [f"{name} skips {who}: {why}" for name, found in results.items() for who, why in found.skipped.items()]
    rounds = ", ".join(f"{name} {found.rounds}" for name, found in results.items())
    lines = "\n".join(f"- {line}" for line in [*machines, *skipped])
    return f"""## The runs

{lines}

Rounds: {rounds}. `bench/results` has the method and the libraries of each suite, and every value.
"""
