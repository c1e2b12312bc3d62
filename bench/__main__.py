"""`python -m bench`: run suites side by side, write their results, and render the page from them."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from bench import page, results
from bench.machine import Machine
from bench.rounds import FULL, QUICK
from bench.suites import SUITES
from tests.cluster.harness.cache import ToolsMissingError

NAMES = [suite.name for suite in SUITES]
SCRATCH = Path(__file__).parents[1] / "build" / "bench"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[SUITE]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--rounds", type=click.IntRange(1, 20), help="How many rounds; 5 unless --quick, which has 1.")
@click.option("--quick", is_flag=True, help="Measure briefly, to see that everything works. Writes to build/bench.")
@click.option("--results", "folder", type=click.Path(path_type=Path, file_okay=False), help="Where results go.")
@click.option("--render", is_flag=True, help="Measure nothing, only write the page again.")
def main(names: tuple[str, ...], rounds: int | None, quick: bool, folder: Path | None, render: bool) -> None:
    """Measure the webhook and its peers: SUITE, or all suites.

    Results go to bench/results, and the page follows from them. With --quick they go to build/bench,
    since short measurements are not worth keeping.
    """
    folder = folder or (SCRATCH if quick else results.FOLDER)
    plan = QUICK if quick else FULL
    plan = replace(plan, count=rounds or plan.count)
    machine = Machine.here()
    for suite in () if render else SUITES:
        if names and suite.name not in names:
            continue
        began = time.monotonic()
        try:
            found = suite.run(machine, plan)
        except ToolsMissingError as missing:
            raise click.ClickException(f"{suite.name}: {missing}") from None
        file = results.save(found, folder)
        print(f"{suite.name}: {time.monotonic() - began:.0f} s, {file}", flush=True)
        for subject, reason in found.skipped.items():
            print(f"{suite.name}: {subject} skipped: {reason}", file=sys.stderr)
    if folder.resolve() == results.FOLDER:
        page.write()
    elif not render:
        print("docs/explanation/performance.md stays as it is: it shows the results in bench/results")


if __name__ == "__main__":
    main()
