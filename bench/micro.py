"""What each step of a review costs, in instructions, which do not depend on what else the machine does."""

from __future__ import annotations

from bench.callgrind import CannotCountError, Counts, count, foundation
from bench.machine import Machine
from bench.results import Figure, Results
from bench.rounds import Rounds
from bench.table import number, table

NAME = "micro"
REVIEWS = 25
QUANTITY = "instructions a review"
METHOD = (
    f"callgrind counts the instructions of {2 * REVIEWS} reviews and of {REVIEWS}; the difference, divided by "
    f"{REVIEWS}, is what one review costs"
)

_INTRO = """## What a review costs, step by step

Thousands of instructions for each review at its hook, in the process, without HTTP and TLS: read the request, decide
(every check, with all its settings at their defaults), build the patch, prove it, encode the answer; the last column is
all of it as the server calls it. `make bench-gate` counts again and fails where a step costs 10 % more than here.
"""


def run(machine: Machine, rounds: Rounds) -> Results:
    """Count once a round. Where instructions cannot be counted, the results say why and have no figures."""
    try:
        rests_on = foundation()
        counted = [count(rounds.many(REVIEWS)) for _ in range(rounds.count)]
    except CannotCountError as reason:
        return Results.of(NAME, machine, rounds, METHOD, skipped={"all steps": str(reason)})
    return results(machine, rounds, counted, rests_on)


def results(machine: Machine, rounds: Rounds, counted: list[Counts], rests_on: str) -> Results:
    """One figure for each step of each review; the first note is what the counts rest on."""
    figures = tuple(
        Figure(step, subject, QUANTITY, "instructions", tuple(one[subject, step] for one in counted))
        for subject, step in counted[0]
    )
    return Results.of(NAME, machine, rounds, METHOD, figures, notes=(rests_on,))


def section(found: Results) -> str:
    """The table of steps, and how far the rounds lie apart."""
    if not found.figures:
        return _INTRO + "\nNot counted: " + "; ".join(found.skipped.values()) + ".\n"
    steps = found.subjects
    reviews = dict.fromkeys(figure.case for figure in found.figures)
    rows = [
        [review, *(number(found.figure(step, review, QUANTITY).spread.middle / 1000) for step in steps)]
        for review in reviews
    ]
    spreads = [figure.spread for figure in found.figures]
    apart = max((spread.high - spread.low) / spread.middle for spread in spreads)
    closing = (
        f"Over {found.rounds} rounds no figure varies by more than {apart:.1%}. They belong to {found.notes[0]}.\n"
    )
    return f"{_INTRO}\n{table(['review', *steps], rows)}\n{closing}"
