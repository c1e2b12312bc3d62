"""Suite: reviews per second over TLS, closed loop."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench import agreement, wrk
from bench.candidates import (
    AUTHORITY,
    CONSTANT,
    TYPED,
    WEBHOOK,
    Running,
    available,
    make_certificates,
    running,
)
from bench.charts import Panel, Row, bar_chart, even, line_chart, linear, lines
from bench.corpus import KINDS, SIX, SIZES, TWO, Size, write
from bench.load_generator import Load, Report, generate
from bench.machine import Machine
from bench.results import Bar, Figure, NoSuchFigureError, Ratio, Results
from bench.rounds import Rounds
from bench.table import number, ratio, table

RATE = "throughput"
SECONDS = 0.8
CONNECTIONS = (1, 16, 64)
USUAL = 16
BUSY = 0.92
"""The part of its core from which on the load, and not the server, may be the limit."""

BY_WRK = "throughput as wrk counts it"
CHECKED = ("mutated", SIX, USUAL)
"""The case that wrk counts too."""


BARS = {
    (TYPED, TWO): Bar(least=2.5),
    (TYPED, SIX): Bar(least=5),
    (CONSTANT, TWO): Bar(least=0.5),
    (CONSTANT, SIX): Bar(least=0.4),
}
"""Goals for mutated reviews on the usual number of connections."""

METHOD = (
    "closed loop over TLS 1.3 with keep-alive, servers on one core, load on another; servers take turns in each case"
)


def case(kind: str, size: Size, connections: int) -> str:
    """The name of a case."""
    return f"{kind} {size.title}, {connections} connection{'s'[: connections != 1]}"


def cases() -> Iterator[tuple[str, Size, int]]:
    """Every kind and size on the usual number of connections, and two sizes on the others."""
    for size in SIZES:
        for kind in KINDS:
            for connections in CONNECTIONS if kind == "mutated" and size in (TWO, SIX) else (USUAL,):
                yield kind, size, connections


def run(machine: Machine, rounds: Rounds) -> Results:
    """Measure every case with every candidate in turn, with new servers each round."""
    make_certificates()
    candidates, skipped = available()
    values: dict[tuple[str, str, str], list[float]] = {}
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for number_of_round in range(rounds.count):
            with ExitStack() as stack:
                servers = [stack.enter_context(running(candidate, machine)) for candidate in candidates]
                if number_of_round == 0:
                    agreement.check(servers, SIZES)
                for kind, size, connections in cases():
                    for server in servers:
                        bodies = write(kind, size, Path(folder))
                        load = Load(server.address, bodies, AUTHORITY, connections, rounds.seconds(SECONDS))
                        key = (server.candidate.name, case(kind, size, connections), RATE)
                        report = _measure(server, load, kind != "denied", machine)
                        values.setdefault(key, []).append(report.rate)
                        if report.cpu > BUSY * report.seconds:
                            notes.append(f"{key[0]}, {key[1]}: the load used its whole core, so this is a lower bound.")
                        if wrk.installed() and (kind, size, connections) == CHECKED:
                            values.setdefault((*key[:2], BY_WRK), []).append(wrk.rate(load, machine))
    figures = tuple(
        Figure(name, title, quantity, "reviews/s", tuple(rates)) for (name, title, quantity), rates in values.items()
    )
    found = Results.of("throughput", machine, rounds, METHOD, figures, skipped=skipped, notes=dict.fromkeys(notes))
    return replace(found, ratios=tuple(_ratios(found)))


def _measure(server: Running, load: Load, allowed: bool, machine: Machine) -> Report:
    report = generate(load, machine)
    report.check(f"{server.candidate.name}, {load.bodies.stem}", allowed if server.candidate.decides else None)
    return report


def _ratios(results: Results) -> Iterator[Ratio]:
    for kind, size, connections in cases():
        title = case(kind, size, connections)
        for over in (TYPED, CONSTANT):
            goal = BARS.get((over, size)) if kind == "mutated" and connections == USUAL else None
            try:
                theirs = results.figure(over, title, RATE)
            except NoSuchFigureError:
                continue
            yield Ratio.between(results.figure(WEBHOOK, title, RATE), theirs, goal)


def _second_opinion(results: Results) -> str:
    """What wrk says of the load generator, or that there was no wrk."""
    if not any(results.having(quantity=BY_WRK)):
        return "wrk was not installed, so nothing but the load generator itself vouches for its counts."
    said = []
    for theirs in results.having(quantity=BY_WRK):
        ours = results.figure(theirs.subject, theirs.case, RATE)
        said.append(f"{theirs.subject} {Ratio.between(ours, theirs).spread.write(ratio)}")
    return f"The load generator over wrk on the same server, {case(*CHECKED)}: {'; '.join(said)}."


def section(results: Results) -> str:
    """What a server answers in a second."""
    subjects = results.subjects
    ratios = {(item.case, item.over): item for item in results.ratios}
    rows = []
    for title in (case(*one) for one in cases()):
        rates = [results.figure(subject, title, RATE).spread.write(number) for subject in subjects]
        over = [ratios[title, other].spread.write(ratio) for other in subjects[1:]]
        rows.append([title, *rates, *over])
    head = ["review", *(f"{subject}, /s" for subject in subjects), *(f"webhook / {over}" for over in subjects[1:])]
    return f"""\
## Reviews per second

![Throughput beside the peers](performance/comparison.svg)

![Throughput against connections](performance/throughput.svg)

Each server has one core, the load another. The webhook runs as installed: all checks, proof of every patch, metrics,
and its JSON log on a pipe that a log collector's stand-in drains. Its peers:

- *{CONSTANT}*: an aiohttp server on uvloop that reads the review and answers with a constant
  (`bench/peers/constant.py`): the floor of what a webhook on these libraries can cost.
- *{TYPED}*: a webhook as most are written, with typed decoding and `PatchResponseFromRaw`, with `GOMAXPROCS=1`
  (`bench/peers/gowebhook`). It makes the same edits, has one check and writes no log.

Before anything is measured, every server gets reviews of each kind and size, and has to give the uid back; the webhook
and the Go webhook have to deny the same pods and to make the same pod of the others. Names, uids and values of
variables differ from review to review: 512 different ones of the small sizes, 128 of 30 kB and 32 of 200 kB.

{table(head, rows)}
The load comes from `bench/load`, a generator in Go that has only the standard library. {_second_opinion(results)}
"""


def plots(results: Results) -> dict[str, str]:
    """Throughput against connections, and the ratios with the bars."""
    panels = [
        Panel(
            f"{size.title} reviews, mutated",
            "connections",
            lines(results, {connections: case("mutated", size, connections) for connections in CONNECTIONS}, RATE),
            even,
            linear,
        )
        for size in (TWO, SIX)
    ]
    legend = list(enumerate(results.subjects))
    return {
        "throughput.svg": line_chart("Throughput", "reviews per second, one core", legend, panels),
        "comparison.svg": _comparison(results),
    }


def _comparison(results: Results) -> str:
    panels = []
    for over in (TYPED, CONSTANT):
        rows = [
            Row(size.title, item.spread, item.bar)
            for size in SIZES
            for item in results.ratios
            if item.over == over and item.case == case("mutated", size, USUAL)
        ]
        if rows:
            panels.append((f"relative to {over}", rows))
    note = f"mutated reviews, {USUAL} connections, ratio within a round; thin line: smallest to largest; mark: goal"
    return bar_chart("Throughput of the webhook, relative to its peers", note, panels)
