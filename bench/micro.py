"""Instructions of each step of a review, and of a whole server per review, whatever else the machine does."""

from __future__ import annotations

from bench.callgrind import CannotCountError, Counts, count, count_served, foundation
from bench.corpus import TWO
from bench.machine import Machine
from bench.results import Bar, Figure, Results
from bench.rounds import Rounds
from bench.table import number, table
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.interpreters import image

NAME = "micro"
REVIEWS = 25
SERVED_REVIEWS = 200
QUANTITY = "instructions a review"
SERVED = "whole server"
BARS = {"mutated": Bar(most=850_000), "denied": Bar(most=850_000), "untouched": Bar(most=450_000)}
"""Goals for a whole server and small reviews."""
METHOD = (
    f"callgrind counts the instructions of {2 * REVIEWS} reviews and of {REVIEWS}, and divides the difference by "
    f"{REVIEWS}; for a whole server, those of {SERVED_REVIEWS} reviews over one connection, its handshake included, "
    "less those of an idle server in the same time. callgrind makes the server about 20 times slower, so its limits "
    "for a stretch of reviews and for collecting log lines are 20 times as long"
)

_INTRO = """## Instructions of a review

Thousands of instructions on the image's Python (callgrind), of each step without HTTP and TLS, and of a whole server.
`make bench-gate` fails where a figure is 10 % and 1,000 instructions above this table.
"""


def run(machine: Machine, rounds: Rounds) -> Results:
    """Count once a round. Where instructions cannot be counted, the results say why and have no figures."""
    try:
        rests_on = foundation(image())
        counted = [measured(rounds) for _ in range(rounds.count)]
    except (CannotCountError, ToolsMissingError) as reason:
        return Results.of(NAME, machine, rounds, METHOD, skipped={"all steps": str(reason)})
    return results(machine, rounds, counted, rests_on)


def measured(rounds: Rounds) -> Counts:
    """The counts of all steps, and of a whole server. Raises CannotCountError and ToolsMissingError."""
    python = image()
    steps = count(rounds.many(REVIEWS), python)
    served = count_served(TWO, rounds.many(SERVED_REVIEWS), python)
    return steps | {(f"{kind} {TWO.title}", SERVED): counted for kind, counted in served.items()}


def results(machine: Machine, rounds: Rounds, counted: list[Counts], rests_on: str) -> Results:
    """One figure for each step of each review; the first note is what the counts rest on."""
    figures = tuple(
        Figure(step, case, QUANTITY, "instructions", tuple(one[case, step] for one in counted), _bar(case, step))
        for case, step in counted[0]
    )
    return Results.of(NAME, machine, rounds, METHOD, figures, notes=(rests_on,))


def _bar(case: str, step: str) -> Bar | None:
    return BARS[case.removesuffix(f" {TWO.title}")] if step == SERVED else None


def section(found: Results) -> str:
    """The table of steps, and how far the rounds lie apart."""
    if not found.figures:
        return _INTRO + "\nNot counted: " + "; ".join(found.skipped.values()) + ".\n"
    steps = [step for step in found.subjects if step != SERVED]
    written = {(one.case, one.subject): number(one.spread.middle / 1000) for one in found.figures}
    reviews = dict.fromkeys(case for case, step in written if step != SERVED)
    rows = [[review, *(written[review, step] for step in steps)] for review in reviews]
    whole = ", ".join(f"{case} {written[case, step]}" for case, step in written if step == SERVED)
    spreads = [figure.spread for figure in found.figures]
    apart = max((spread.high - spread.low) / spread.middle for spread in spreads)
    closing = (
        f"Over {found.rounds} rounds no figure varies by more than {apart:.1%}. They belong to {found.notes[0]}.\n"
    )
    return f"{_INTRO}\n{table(['review', *steps], rows)}\nA whole server: {whole}.\n\n{closing}"
