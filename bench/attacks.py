"""Honest reviews while connections are misused, and what 10,000 misused connections of each kind leave behind.

    python -m bench.attacks [--seconds 20] [--count 10000] [--certificates none|required] [ATTACK]...

One attack at a time against a server of its own on loopback, as the chart runs it: one process, its own core, TLS 1.3.
The attackers and the honest clients share the other core; 100 honest reviews per second count from their planned time.
With `required`, honest clients have a client certificate and attackers have none. The exit status is 1 where a bar is
missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from bench.attackers import BY_NAME, started
from bench.candidates import AUTHORITY, WEBHOOK, Running, health, make_certificates, running, serving
from bench.corpus import TWO, write
from bench.load_generator import Load, Report, generate
from bench.machine import Machine
from bench.table import number, table
from tests.cluster.harness.interpreters import image
from tests.server.attacks import Attack
from tests.server.callers import Callers
from tests.server.certificates import client_certificate
from tests.server.lines import until

RATE = 100
CONNECTIONS = 16
WARM = 1_000
"""Attacks before memory counts: what a server takes once, it keeps."""

BEARABLE = 250.0
"""Milliseconds: the 99th percentile of honest reviews."""

KEPT = 16.0
"""MiB by which the memory may differ."""

PROBE = 1.0
"""Seconds that a probe of the kubelet may take."""

FASTEST = 120.0
"""Seconds for the attacks that are left of the count."""

CALLER = "kube-apiserver"
HEAD = (
    "attack", "attacks", "in all", "p50, ms", "p99, ms", "max, ms", "failed", "slowest probe, ms", "memory, MiB",
    "open files", "missed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clients:
    """The options of a server, and the identity of its honest clients."""

    name: str
    options: tuple[str, ...] = ()
    identity: Path | None = None

    @classmethod
    def of(cls, name: str, folder: Path) -> Clients:
        """Those of a setting: `none` or `required`."""
        if name == "none":
            return cls(name)
        callers, identity = Callers.of(folder, "callers"), folder / "caller.pem"
        identity.write_bytes(client_certificate(callers.authority, CALLER))
        return cls(name, tuple(callers.settings(CALLER)), identity)


@dataclass(slots=True)
class Probes:
    """What probes of liveness took, in seconds, and how many failed."""

    slowest: float = 0.0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Size:
    """The resident memory of a server in MiB, and its open files."""

    memory: float
    files: int

    @classmethod
    def of(cls, server: Running) -> Size:
        """As it is now."""
        return cls(server.memory(), len(list(Path(f"/proc/{server.pid}/fd").iterdir())))


@dataclass(slots=True)
class Outcome:
    """What came of one attack: `attacks` while honest reviews were measured, and `in_all` between the two sizes.

    `wanted` is how many there should be in all.
    """

    name: str
    attacks: int
    in_all: int
    honest: Report
    probes: Probes
    before: Size
    after: Size
    wanted: int = 0
    missed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        checks = {
            "count": self.in_all >= self.wanted,
            "p99": self.honest.latency.get("p99", 60.0) * 1000 < BEARABLE,
            "failed reviews": self.failed == 0,
            "probes": self.probes.failed == 0,
            "memory": abs(self.after.memory - self.before.memory) <= KEPT,
            "open files": self.after.files <= self.before.files,
        }
        self.missed = [name for name, holds in checks.items() if not holds]

    @property
    def failed(self) -> int:
        """Honest reviews without an answer of 200."""
        answered = sum(self.honest.statuses.values())
        return sum(self.honest.errors.values()) + answered - self.honest.statuses.get("200", 0)

    @property
    def row(self) -> list[str]:
        """A row of the table."""
        latencies = [number(self.honest.latency.get(name, 0.0) * 1000) for name in ("p50", "p99", "max")]
        return [
            self.name,
            f"{self.attacks:,}",
            f"{self.in_all:,}",
            *latencies,
            str(self.failed),
            number(self.probes.slowest * 1000),
            f"{self.before.memory:.0f} to {self.after.memory:.0f}",
            f"{self.before.files} to {self.after.files}",
            ", ".join(self.missed) or "nothing",
        ]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[ATTACK]...", nargs=-1, type=click.Choice(list(BY_NAME)))
@click.option("--seconds", type=click.FloatRange(1, 60), default=20.0, help="How long honest reviews are measured.")
@click.option(
    "--count", type=click.IntRange(1, 100_000), default=10_000, help="How many attacks of each kind, at least."
)
@click.option("--certificates", type=click.Choice(["none", "required"]), default="none", help="Client certificates.")
def main(names: tuple[str, ...], seconds: float, count: int, certificates: str) -> None:
    """Measure honest reviews under each ATTACK, or all of them."""
    make_certificates()
    machine = Machine.here()
    print(
        f"{machine.describe()}\nLoad of the machine before: {os.getloadavg()[0]:.1f}; use the figures of an idle one.\n"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bodies, clients = write("mutated", TWO, folder), Clients.of(certificates, folder)
        measured = partial(_measured, machine, clients, bodies, seconds, count)
        outcomes = [] if names else [_shown(measured(None))]
        outcomes += [_shown(measured(BY_NAME[name])) for name in names or BY_NAME]
    print(
        f"\nClient certificates: {certificates}; {seconds:g} s each; "
        f"load of the machine after: {os.getloadavg()[0]:.1f}\n"
    )
    print(table(HEAD, [outcome.row for outcome in outcomes]))
    sys.exit(any(outcome.missed for outcome in outcomes))


def _measured(
    machine: Machine, clients: Clients, bodies: Path, seconds: float, count: int, attack: Attack | None
) -> Outcome:
    """Warm a server up, attack it while honest reviews are measured, and complete the count."""
    with running(serving(WEBHOOK, image(), *clients.options), machine) as server:
        load = Load(
            server.address, bodies, AUTHORITY, CONNECTIONS, seconds, RATE, warmup=1.0, identity=clients.identity
        )
        generate(Load(server.address, bodies, AUTHORITY, CONNECTIONS, 1.0, RATE, identity=clients.identity), machine)
        if attack is not None:
            started(machine, server.port, AUTHORITY, attack, FASTEST, WARM).ended()
        before = _settled(server)
        attackers = attack and started(machine, server.port, AUTHORITY, attack, seconds + 1.5, 100_000)
        with _probed(server) as probes:
            honest = generate(load, machine)
        attacks = in_all = attackers.ended() if attackers else 0
        if attack is not None and attacks < count:
            in_all += started(machine, server.port, AUTHORITY, attack, FASTEST, count - attacks).ended()
        after = _settled(server, before.files)
    name, wanted = ("none", 0) if attack is None else (attack.name, count)
    return Outcome(name, attacks, in_all, honest, probes, before, after, wanted)


@contextmanager
def _probed(server: Running) -> Iterator[Probes]:
    """Probe liveness all the time, as the kubelet does now and then."""
    probes, ended = Probes(), threading.Event()

    def probe() -> None:
        while not ended.wait(0.1):
            began = time.monotonic()
            try:
                status, _ = health(server, "/livez")
            except OSError:
                status = 0
            took = time.monotonic() - began
            probes.slowest = max(probes.slowest, took)
            probes.failed += status != 200 or took > PROBE

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield probes
    finally:
        ended.set()
        thread.join()


def _settled(server: Running, most: int = 0) -> Size:
    """The size of a server when its connections have ended, with no more files than `most`, or should have."""
    with suppress(AssertionError):
        until(lambda: "\ngpushare_webhook_connections 0.0\n" in health(server, "/metrics")[1])
    if most:  # the connection that has just asked for the metrics ends a moment later
        with suppress(AssertionError):
            until(lambda: Size.of(server).files <= most)
    return Size.of(server)


def _shown(outcome: Outcome) -> Outcome:
    print("; ".join(f"{title}: {cell}" for title, cell in zip(HEAD, outcome.row, strict=True)), flush=True)
    if outcome.failed:
        print(f"  answers {outcome.honest.statuses}, failures {outcome.honest.errors}", flush=True)
    return outcome


if __name__ == "__main__":
    main()
