"""Suite: memory, CPU time per review, and time from start to readiness of a server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.candidates import AUTHORITY, WEBHOOK, Running, available, make_certificates, running
from bench.corpus import SIX, TWO, Size, write
from bench.load_generator import Load, generate
from bench.machine import Machine
from bench.results import Bar, Figure, Results
from bench.rounds import Rounds
from bench.table import number, table

SECONDS = 2.0
CONNECTIONS = 16

READY = "start to ready"
IDLE = "memory after the start"
LOADED = "memory after the load"
CPU = "processor time of 1,000 reviews"
QUIET = {f"mutated {size.title}": size for size in (TWO, SIX)}

BARS = {READY: Bar(most=1), LOADED: Bar(most=64)}
"""Goals for the webhook."""

METHOD = (
    "one server at a time on one core; resident memory and processor time of its process as the kernel counts them, "
    f"before and after a closed loop of {CONNECTIONS} connections"
)


def run(machine: Machine, rounds: Rounds) -> Results:
    """Start each candidate once a round, read its memory, and load it with two sizes of reviews."""
    make_certificates()
    candidates, skipped = available()
    values: dict[tuple[str, str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for _ in range(rounds.count):
            for candidate in candidates:
                with running(candidate, machine) as server:
                    for title, quantity, unit, value in _measured(server, folder, machine, rounds):
                        values.setdefault((candidate.name, title, quantity, unit), []).append(value)
    figures = tuple(
        Figure(name, title, quantity, unit, tuple(found), BARS.get(quantity) if name == WEBHOOK else None)
        for (name, title, quantity, unit), found in values.items()
    )
    return Results.of("footprint", machine, rounds, METHOD, figures, skipped=skipped)


def _measured(server: Running, folder: Path, machine: Machine, rounds: Rounds) -> Iterator[tuple[str, str, str, float]]:
    """Case, quantity, unit and value of everything that one start of a server shows."""
    yield "start", READY, "s", server.started
    yield "start", IDLE, "MiB", server.memory()
    for title, size in QUIET.items():
        yield title, CPU, "s", _processor_time(server, size, folder, machine, rounds)
    yield "both sizes", LOADED, "MiB", server.memory()


def _processor_time(server: Running, size: Size, folder: Path, machine: Machine, rounds: Rounds) -> float:
    bodies = write("mutated", size, folder)
    load = Load(server.address, bodies, AUTHORITY, CONNECTIONS, rounds.seconds(SECONDS), warmup=0)
    before = server.cpu()
    report = generate(load, machine)
    report.check(f"{server.candidate.name}, mutated {size.title}", allowed=True)
    return (server.cpu() - before) / report.requests * 1000


def section(results: Results) -> str:
    """Memory, processor time and start of each server."""
    columns = (("start", READY, "s"), ("both sizes", LOADED, "MiB"), (f"mutated {TWO.title}", CPU, "s"))
    rows = [
        [subject, *(number(results.figure(subject, title, quantity).spread.middle) for title, quantity, _ in columns)]
        for subject in results.subjects
    ]
    named = [f"{quantity}, {unit}" for _, quantity, unit in columns]
    return f"""\
## Memory, processor time, start

Certificates come from files, and there are no facts. Memory is the resident set of the process; the reviews are of
mutated pods, of 2 kB.

{table(["server", *named], rows)}"""
