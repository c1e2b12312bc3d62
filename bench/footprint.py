"""Suite: memory, CPU time per review, and time from start to readiness of a server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.candidates import AUTHORITY, CONSTANT, TYPED, WEBHOOK, Running, available, make_certificates, running
from bench.corpus import SIX, TWO, Size, write
from bench.load_generator import Load, generate
from bench.machine import Machine
from bench.reloading import with_facts
from bench.results import Bar, Figure, Ratio, Results
from bench.rounds import Rounds
from bench.table import number, ratio, table

SECONDS = 2.0
CONNECTIONS = 16
NODES = 5_000
WITH_FACTS = f"{WEBHOOK}, facts of {NODES:,} nodes"

READY = "start to ready"
IDLE = "memory after the start"
LOADED = "memory after the load"
CPU = "processor time of 1,000 reviews"

BARS = {
    (WEBHOOK, READY): Bar(most=2),
    (WEBHOOK, LOADED): Bar(most=80),
    (WITH_FACTS, READY): Bar(most=2),
    (WITH_FACTS, LOADED): Bar(most=200),
}

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
        Figure(name, title, quantity, unit, tuple(found), BARS.get((name, quantity)))
        for (name, title, quantity, unit), found in values.items()
    )
    found = Results.of("footprint", machine, rounds, METHOD, figures, skipped=skipped)
    return replace(found, ratios=tuple(_ratios(found)))


def _measured(server: Running, folder: Path, machine: Machine, rounds: Rounds) -> Iterator[tuple[str, str, str, float]]:
    """Case, quantity, unit and value of everything that one start of a server shows."""
    yield "start", READY, "s", server.started
    yield "start", IDLE, "MiB", server.memory()
    for size in (TWO, SIX):
        yield _case(size), CPU, "s", _processor_time(server, size, folder, machine, rounds)
    yield "both sizes", LOADED, "MiB", server.memory()


def _ratios(results: Results) -> Iterator[Ratio]:
    """The webhook's processor time for a review over that of each peer."""
    for size in (TWO, SIX):
        ours = results.figure(WEBHOOK, _case(size), CPU)
        for theirs in results.having(case=_case(size), quantity=CPU):
            if theirs.subject in (CONSTANT, TYPED):
                yield Ratio.between(ours, theirs)


def _case(size: Size) -> str:
    return f"mutated {size.title}"


def _processor_time(server: Running, size: Size, folder: Path, machine: Machine, rounds: Rounds) -> float:
    bodies = write("mutated", size, folder)
    load = Load(server.address, bodies, AUTHORITY, CONNECTIONS, rounds.seconds(SECONDS), warmup=0)
    before = server.cpu()
    report = generate(load, machine)
    report.check(f"{server.candidate.name}, {_case(size)}", allowed=True)
    return (server.cpu() - before) / report.requests * 1000


def section(results: Results) -> str:
    """What a server takes."""
    columns = (
        ("start", READY, "s"),
        ("start", IDLE, "MiB"),
        ("both sizes", LOADED, "MiB"),
        (_case(TWO), CPU, "s"),
        (_case(SIX), CPU, "s"),
    )
    subjects = results.subjects
    rows = [
        [subject, *(results.figure(subject, title, quantity).spread.write(number) for title, quantity, _ in columns)]
        for subject in subjects
    ]
    head = [
        "server",
        *(f"{quantity}{'' if quantity != CPU else f', {title}'}, {unit}" for title, quantity, unit in columns),
    ]
    ratios = [f"{item.case} / {item.over} {item.spread.write(ratio)}" for item in results.ratios]
    return f"""\
## Memory, processor time, start

Certificates come from files. "{WITH_FACTS}" reads its facts from a file; in a cluster they come from watches. Memory
is the resident set of the process.

{table(head, rows)}
The webhook's processor time over that of a peer, less is better; other work on the machine distorts it less than it
distorts throughput: {"; ".join(ratios)}.
"""
