"""The CI gate: no step of a review may cost 10 percent and 1,000 instructions more than its committed figure.

`python -m bench.gate` counts, compares with `bench/results/micro.json`, and ends with 1 where a step costs too much,
or, in CI, where nothing can be counted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from bench import callgrind, micro
from bench.callgrind import CannotCountError, Counts
from bench.results import Results, load
from bench.rounds import FULL
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.interpreters import image

TOLERATED = 1.10
UNNOTICED = 1_000
"""Instructions that are not reported: changes elsewhere move small steps by 600, since entries of dicts move."""

ACCEPT = "To accept the new figures, run `make bench-accept` and commit what it writes."


def main() -> int:
    """Count and compare; the exit status."""
    committed = load(micro.NAME)
    try:
        if reason := incomparable(committed, callgrind.foundation(image())):
            return _not_compared(reason)
        counted = micro.measured(FULL)
    except (CannotCountError, ToolsMissingError) as missing:
        return _not_compared(str(missing)) or int(os.environ.get("CI") == "true")
    problems = list(compare(committed, counted))
    for problem in problems:
        print(f"bench-gate: {problem}", file=sys.stderr)
    if problems:
        print(f"bench-gate: {ACCEPT}", file=sys.stderr)
        return 1
    limits = f"{TOLERATED - 1:.0%} and {UNNOTICED:,} instructions"
    print(f"bench-gate: {len(counted)} steps compared, none costs over {limits} more")
    return 0


def incomparable(committed: Results, here: str) -> str:
    """Why counts from here cannot be compared with the committed ones; empty when they can."""
    if not committed.figures:
        return "bench/results/micro.json has no figures"
    (there,) = committed.notes
    return "" if here == there else f"the committed figures belong to {there}; here is {here}"


def compare(committed: Results, counted: Counts) -> Iterator[str]:
    """What is wrong: steps that cost too much, steps without a committed figure, figures without a step."""
    before = {(figure.case, figure.subject): figure.spread.middle for figure in committed.figures}
    for review, step in {**before, **counted}:
        was, now = before.get((review, step)), counted.get((review, step))
        where = f'{step} of the review "{review}"'
        if was is None:
            yield f"{where} has no committed figure"
        elif now is None:
            yield f"{where} has a committed figure, but is no longer counted"
        elif now > TOLERATED * was and now - was > UNNOTICED:
            yield f"{where} costs {now:,.0f} instructions, {now / was - 1:.1%} more than the committed {was:,.0f}"


def _not_compared(reason: str) -> int:
    """Report that nothing was compared. By itself this does not fail: another Python needs other instructions."""
    print(f"bench-gate: NOT COMPARED: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
