"""Suite: latency at a fixed rate, open loop: each latency counts from the time at which its request was planned."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench import reloading
from bench.candidates import AUTHORITY, WEBHOOK, available, make_certificates, running
from bench.charts import Panel, even, line_chart, lines, logarithmic
from bench.corpus import SIX, TWO, Size, write
from bench.load_generator import Load, generate
from bench.machine import Machine
from bench.results import Bar, Figure, Results
from bench.rounds import Rounds
from bench.table import number, table

RATES = {100: 4.0, 500: 2.0, 1000: 2.0}
"""Planned reviews per second, and the number of seconds."""

CONNECTIONS = 64
QUANTITIES = ("p50", "p99")
BARS = {"p50": Bar(most=1), "p99": Bar(most=5)}
"""Goals at 500 reviews per second."""

NODES = 5_000
WHILE_LOADING = f"2 kB at 500/s while facts of {NODES:,} nodes load"
RELOADING = 3.0
"""Seconds of that."""

METHOD = "open loop over TLS 1.3 at fixed rates; latency from the planned time, so without coordinated omission"


def case(size: Size, rate: int) -> str:
    """The name of a case."""
    return f"{size.title} at {rate:,}/s"


def run(machine: Machine, rounds: Rounds) -> Results:
    """Plan requests at each rate for every candidate in turn, with new servers each round."""
    make_certificates()
    candidates, skipped = available()
    values: dict[tuple[str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds.count):
            with ExitStack() as stack:
                servers = [stack.enter_context(running(candidate, machine)) for candidate in candidates]
                for size in (TWO, SIX):
                    bodies = write("mutated", size, Path(folder))
                    for rate, seconds in RATES.items():
                        for server in servers:
                            planned = rounds.seconds(seconds)
                            load = Load(server.address, bodies, AUTHORITY, CONNECTIONS, planned, rate=rate)
                            report = generate(load, machine)
                            report.check(f"{server.candidate.name}, {case(size, rate)}", allowed=True)
                            for quantity in QUANTITIES:
                                key = (server.candidate.name, case(size, rate), quantity)
                                values.setdefault(key, []).append(report.latency[quantity] * 1000)
                bodies = write("mutated", TWO, Path(folder))
                load = Load("", bodies, AUTHORITY, CONNECTIONS, rounds.seconds(RELOADING), rate=500, warmup=0)
                report = reloading.measure(load, NODES, Path(folder), machine)
                report.check(WHILE_LOADING, allowed=True)
                for quantity in QUANTITIES:
                    values.setdefault((WEBHOOK, WHILE_LOADING, quantity), []).append(report.latency[quantity] * 1000)
    figures = tuple(
        Figure(name, title, quantity, "ms", tuple(found), _bar(name, title, quantity))
        for (name, title, quantity), found in values.items()
    )
    return Results.of("latency", machine, rounds, METHOD, figures, skipped=skipped)


def _bar(name: str, title: str, quantity: str) -> Bar | None:
    if (title, quantity) == (WHILE_LOADING, "p99"):
        return Bar(most=10)
    return BARS[quantity] if name == WEBHOOK and title in (case(TWO, 500), case(SIX, 500)) else None


def section(results: Results) -> str:
    """How long a review waits."""
    subjects = results.subjects
    rows = [
        [
            case(size, rate),
            *(
                results.figure(subject, case(size, rate), quantity).spread.write(number)
                for subject in subjects
                for quantity in QUANTITIES
            ),
        ]
        for size in (TWO, SIX)
        for rate in RATES
    ]
    loading = [
        f"{quantity} {results.figure(WEBHOOK, WHILE_LOADING, quantity).spread.write(number)} ms"
        for quantity in QUANTITIES
    ]
    head = ["load", *(f"{subject}, {quantity}" for subject in subjects for quantity in QUANTITIES)]
    return f"""\
## Latency

![Latency against load](performance/latency.svg)

Reviews are planned at a fixed rate whatever the server does, on up to {CONNECTIONS} connections, and each latency
counts from the planned time: a pause of the server is charged to every review that waited for it. What the load
generator is late itself counts too, for every server alike. Milliseconds:

{table(head, rows)}
{WHILE_LOADING}, from a file that changes again and again: {" and ".join(loading)}.
"""


def plots(results: Results) -> dict[str, str]:
    """Latency against the load."""
    panels = []
    for size in (TWO, SIX):
        cases = {rate: case(size, rate) for rate in RATES}
        drawn = [*lines(results, cases, "p50"), *lines(results, cases, "p99", dashed=True)]
        panels.append(Panel(f"{size.title} reviews, mutated", "reviews per second", drawn, even, logarithmic))
    legend = list(enumerate(results.subjects))
    return {"latency.svg": line_chart("Latency", "milliseconds", legend, panels, "; solid: p50, dashed: p99")}
