"""Suite: latency at a fixed rate, open loop: each latency counts from the time at which its request was planned."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.candidates import AUTHORITY, CONSTANT, WEBHOOK, available, make_certificates, running
from bench.corpus import SIX, TWO, write
from bench.load_generator import Load, Report, generate
from bench.machine import Machine
from bench.results import Bar, Figure, Results
from bench.rounds import Rounds
from bench.table import number, table

RATE = 500
SECONDS = 3.0
CONNECTIONS = 64
QUANTITIES = ("p50", "p99")
BARS = {"p50": Bar(most=1), "p99": Bar(most=5)}
CASES = {f"{size.title} at {RATE}/s": size for size in (TWO, SIX)}

METHOD = "open loop over TLS 1.3 at a fixed rate; latency from the planned time, so without coordinated omission"


def run(machine: Machine, rounds: Rounds) -> Results:
    """Plan requests for every candidate in turn, with new servers each round."""
    make_certificates()
    candidates, skipped = available()
    values: dict[tuple[str, str, str], list[float]] = {}

    def keep(name: str, case: str, report: Report) -> None:
        report.check(f"{name}, {case}", allowed=True)
        for quantity in QUANTITIES:
            values.setdefault((name, case, quantity), []).append(report.latency[quantity] * 1000)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for _ in range(rounds.count):
            with ExitStack() as stack:
                servers = [stack.enter_context(running(candidate, machine)) for candidate in candidates]
                for case, size in CASES.items():
                    for server in servers:
                        bodies = write("mutated", size, folder)
                        load = Load(server.address, bodies, AUTHORITY, CONNECTIONS, rounds.seconds(SECONDS), rate=RATE)
                        keep(server.candidate.name, case, generate(load, machine))
    figures = tuple(
        Figure(name, case, quantity, "ms", tuple(found), BARS[quantity] if name == WEBHOOK else None)
        for (name, case, quantity), found in values.items()
    )
    return Results.of("latency", machine, rounds, METHOD, figures, skipped=skipped)


def section(results: Results) -> str:
    """The latency of each server, at the median and at the 99th percentile."""
    written = {(one.subject, one.case, one.quantity): number(one.spread.middle) for one in results.figures}
    columns = [(case, quantity) for case in CASES for quantity in QUANTITIES]
    rows = [[one, *(written.get((one, *column), "") for column in columns)] for one in results.subjects]
    head = ["server, ms", *(f"{case}, {quantity}" for case, quantity in columns)]
    return f"""\
## Latency

Reviews arrive at a fixed rate on up to {CONNECTIONS} connections; each latency counts from the planned time.
*{CONSTANT}* is an aiohttp server on uvloop that decides nothing.

{table(head, rows)}"""
