"""Suite: memory, CPU time per review, and time from start to readiness of a server."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.candidates import AUTHORITY, WEBHOOK, Running, available, make_certificates, running
from bench.corpus import SIX, TWO, Size, write
from bench.load_generator import Load, generate
from bench.machine import Machine, pinned
from bench.reloading import with_facts
from bench.results import Bar, Figure, Ratio, Results
from bench.rounds import Rounds
from bench.table import number, shown, table

SECONDS = 2.0
CONNECTIONS = 16
NODES = 5_000
WITH_FACTS = f"{WEBHOOK}, facts of {NODES:,} nodes"

READY = "start to ready"
IDLE = "memory after the start"
LOADED = "memory after the load"
CPU = "processor time of 1,000 reviews"
QUIET = {f"mutated {size.title}": size for size in (TWO, SIX)}
BUSY = "mutated 2 kB beside a busy process"

BARS = {
    (WEBHOOK, READY): Bar(most=1),
    (WEBHOOK, LOADED): Bar(most=64),
    (WEBHOOK, CPU): Bar(most=0.12),
    (WITH_FACTS, READY): Bar(most=1),
    (WITH_FACTS, LOADED): Bar(most=200),
}
"""Goals by subject and quantity; that of the processor time belongs to the small reviews alone."""

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
        candidates.append(with_facts(WITH_FACTS, NODES, folder))
        for _ in range(rounds.count):
            for candidate in candidates:
                with running(candidate, machine) as server:
                    for title, quantity, unit, value in _measured(server, folder, machine, rounds):
                        values.setdefault((candidate.name, title, quantity, unit), []).append(value)
    figures = tuple(
        Figure(name, title, quantity, unit, tuple(found), _bar(name, title, quantity))
        for (name, title, quantity, unit), found in values.items()
    )
    found = Results.of("footprint", machine, rounds, METHOD, figures, skipped=skipped)
    return replace(found, ratios=tuple(_ratios(found)))


def _measured(server: Running, folder: Path, machine: Machine, rounds: Rounds) -> Iterator[tuple[str, str, str, float]]:
    """Case, quantity, unit and value of everything that one start of a server shows."""
    yield "start", READY, "s", server.started
    yield "start", IDLE, "MiB", server.memory()
    for title, size in QUIET.items():
        yield title, CPU, "s", _processor_time(server, size, folder, machine, rounds)
    yield "both sizes", LOADED, "MiB", server.memory()
    with _busy(machine):
        yield BUSY, CPU, "s", _processor_time(server, TWO, folder, machine, rounds)


@contextmanager
def _busy(machine: Machine) -> Iterator[None]:
    """Share the server's core with a process that never rests."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=pinned(machine.server))
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _bar(name: str, title: str, quantity: str) -> Bar | None:
    return None if title in (BUSY, f"mutated {SIX.title}") else BARS.get((name, quantity))


def _ratios(results: Results) -> Iterator[Ratio]:
    """The processor time beside a busy process over that on a quiet core."""
    quiet, busy = (results.figure(WEBHOOK, title, CPU) for title in (f"mutated {TWO.title}", BUSY))
    yield Ratio.between(busy, replace(quiet, subject="on a quiet core"), Bar(most=1.1))


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
        for subject in shown(results.subjects)
    ]
    named = [f"{quantity}, {unit}" for _, quantity, unit in columns]
    return f"""\
## Memory, processor time, start

Certificates and facts come from files. Memory is the resident set of the process; the reviews are mutated, of 2 kB.

{table(["server", *named], rows)}"""
