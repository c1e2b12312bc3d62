"""The CI gate: no step of a review may cost 10 percent more instructions than its committed figure.

`python -m bench.gate` counts, compares with `bench/results/micro.json`, and ends with 1 where a step costs too much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench import callgrind, micro
from bench.callgrind import CannotCountError, Counts
from bench.results import Results, load

TOLERATED = 1.10

ACCEPT = "To accept the new figures, run `make bench-accept` and commit what it writes."


def main() -> int:
    """Count and compare; the exit status."""
    try:
        committed = load(micro.NAME)
        here = callgrind.foundation()
        if reason := incomparable(committed, here):
            return _not_compared(reason)
        counted = callgrind.count(micro.REVIEWS)
    except (CannotCountError, FileNotFoundError) as reason:
        return _not_compared(str(reason))
    problems = list(compare(committed, counted))
    for problem in problems:
        print(f"bench-gate: {problem}", file=sys.stderr)
    if problems:
        print(f"bench-gate: {ACCEPT}", file=sys.stderr)
        return 1
    print(f"bench-gate: {len(counted)} steps compared, none costs over {TOLERATED - 1:.0%} more instructions")
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
        elif now > TOLERATED * was:
            yield f"{where} costs {now:,.0f} instructions, {now / was - 1:.1%} more than the committed {was:,.0f}"


def _not_compared(reason: str) -> int:
    """Report that nothing was compared. This does not fail: another Python needs other instructions."""
    print(f"bench-gate: NOT COMPARED: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
