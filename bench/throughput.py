"""Suite: reviews per second over TLS, closed loop."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench import agreement
from bench.candidates import AUTHORITY, CONSTANT, TYPED, WEBHOOK, available, make_certificates, running
from bench.corpus import KINDS, SIZES, Size, write
from bench.load_generator import Load, generate
from bench.machine import Machine
from bench.results import Bar, Figure, NoSuchFigureError, Ratio, Results
from bench.rounds import Rounds
from bench.table import number, ratio, table

RATE = "throughput"
SECONDS = 0.8
CONNECTIONS = 16

METHOD = (
    f"closed loop of {CONNECTIONS} connections over TLS 1.3 with keep-alive, servers on one core, load on another; "
    "servers take turns in each case"
)


def case(kind: str, size: Size) -> str:
    """The name of a case."""
    return f"{kind} {size.title}"


CASES = [(kind, size) for size in SIZES for kind in KINDS]


def run(machine: Machine, rounds: Rounds) -> Results:
    """Measure every case with every candidate that decides in turn, with new servers each round."""
    make_certificates()
    candidates, skipped = available()
    values: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number_of_round in range(rounds.count):
            with ExitStack() as stack:
                servers = [stack.enter_context(running(one, machine)) for one in candidates if one.name != CONSTANT]
                if number_of_round == 0:
                    agreement.check(servers, SIZES)
                for kind, size in CASES:
                    bodies = write(kind, size, Path(folder))
                    for server in servers:
                        load = Load(server.address, bodies, AUTHORITY, CONNECTIONS, rounds.seconds(SECONDS))
                        report = generate(load, machine)
                        report.check(f"{server.candidate.name}, {case(kind, size)}", kind != "denied")
                        values.setdefault((server.candidate.name, case(kind, size)), []).append(report.rate)
    figures = tuple(Figure(name, title, RATE, "reviews/s", tuple(rates)) for (name, title), rates in values.items())
    found = Results.of("throughput", machine, rounds, METHOD, figures, skipped=skipped)
    return replace(found, ratios=tuple(_ratios(found)))


def _ratios(results: Results) -> Iterator[Ratio]:
    for kind, size in CASES:
        try:
            theirs = results.figure(TYPED, case(kind, size), RATE)
        except NoSuchFigureError:
            continue
        ours = results.figure(WEBHOOK, case(kind, size), RATE)
        yield Ratio.between(ours, theirs, Bar(least=1))


def section(results: Results) -> str:
    """Reviews per second of the webhook for each kind and size, as medians, and the ratio."""
    over = {item.case: f": {item.spread.write(ratio)}" for item in results.ratios}

    def cell(kind: str, size: Size) -> str:
        title = case(kind, size)
        return number(results.figure(WEBHOOK, title, RATE).spread.middle) + over.get(title, "")

    head = ["size", *(f"{kind}, /s: ratio" for kind in KINDS)]
    rows = [[size.title, *(cell(kind, size) for kind in KINDS)] for size in SIZES]
    return f"""\
## Reviews per second

Each server has one core, the load another. The webhook runs as installed: all checks, proof of every patch, metrics and
log. The ratio compares it with *{TYPED}*, which decodes into types (`bench/peers/gowebhook`), makes the same edits, and
has one check and no log. Both must deny the same pods and make the same pod of the others.

{table(head, rows)}"""
