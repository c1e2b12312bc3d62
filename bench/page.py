"""docs/explanation/performance.md, rendered from the committed results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.results import FOLDER, Figure, Ratio, Results, load
from bench.suites import SUITES, Suite
from bench.table import number, ratio, table

DOCS = Path(__file__).parents[1] / "docs" / "explanation"
PAGE = DOCS / "performance.md"
PROSE = Path(__file__).parent / "prose"


def committed() -> dict[str, Results]:
    """The results that the page shows, by suite."""
    return {suite.name: load(suite.name) for suite in SUITES if (FOLDER / f"{suite.name}.json").exists()}


def render(results: Mapping[str, Results]) -> str:
    """The page: what it is, the goals, a section for each suite, and what is measured elsewhere."""
    sections = [_section(suite, results[suite.name]) for suite in SUITES if suite.name in results]
    parts = [(PROSE / "intro.md").read_text(), _provisional(results), _goals(results), *sections]
    parts += [(PROSE / "elsewhere.md").read_text(), _runs(results)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def write() -> None:
    """Write the page."""
    PAGE.write_text(render(committed()))


def _section(suite: Suite, found: Results) -> str:
    notes = "".join(f"\n- {note}" for note in found.notes)
    return f"{suite.section(found).rstrip()}\n{notes}"


def _provisional(results: Mapping[str, Results]) -> str:
    short = [name for name, found in results.items() if found.share < 1]
    if not short:
        return ""
    return f"> The figures of {', '.join(short)} come from short runs and are **provisional**: read none of them.\n"


def _goals(results: Mapping[str, Results]) -> str:
    rows = []
    for found in results.values():
        measured: list[Figure | Ratio] = [*found.ratios, *found.figures]
        for item in measured:
            if item.bar is None:
                continue
            what = f"{item.quantity}, {item.case}: {item.subject}"
            if isinstance(item, Ratio):
                what += f" / {item.over}"
                form, unit = ratio, ""
            else:
                form, unit = number, f" {item.unit}"
            rows.append([what, f"{item.bar}{unit}", item.spread.write(form), _met(item.bar.holds(item.spread.middle))])
    title = "## Goals\n\nA goal counts as met when the median of the rounds meets it.\n\n"
    return title + table(["what", "goal", "measured", "met"], rows)


def _met(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _runs(results: Mapping[str, Results]) -> str:
    machines = {found.machine.describe() for found in results.values()}
    rows = [
        [
            name,
            str(found.rounds),
            found.method,
            "; ".join(f"{who}: {why}" for who, why in found.skipped.items()) or "none",
        ]
        for name, found in results.items()
    ]
    lines = "\n".join(f"- {machine}" for machine in sorted(machines))
    runs = table(["suite", "rounds", "method", "skipped"], rows).replace("---:", "---")
    return f"## The runs\n\n{lines}\n\n{runs}"
