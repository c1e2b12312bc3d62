"""The load generator (bench/load, in Go), as a function."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.gotools import go_program
from bench.machine import Machine, pinned

_MARGIN = 60


class LoadError(Exception):
    """The load generator failed, or the server gave a wrong answer."""


@dataclass(frozen=True, slots=True)
class Load:
    """A load: a loopback address, a file with one body per line, and the authority of the certificate.

    With `rate`, requests per second are planned in advance (open loop); without, each connection waits for its answer.
    """

    address: str
    bodies: Path
    authority: Path
    connections: int
    seconds: float
    rate: float = 0
    warmup: float = 0.2
    path: str = "/mutate?timeout=10s"
    limit: int = 1_000_000


class Report(msgspec.Struct, rename="camel"):
    """The result, in seconds."""

    requests: int
    seconds: float
    rate: float
    allowed: int
    statuses: dict[str, int]
    errors: dict[str, int]
    latency: dict[str, float]

    def check(self, who: str, allowed: bool | None) -> None:
        """Reject a run with a failed or wrong answer. Raises LoadError."""
        if self.errors or set(self.statuses) != {"200"}:
            raise LoadError(f"{who}: answers {self.statuses}, failures {self.errors}")
        if allowed is not None and self.allowed != (self.requests if allowed else 0):
            raise LoadError(f"{who}: {self.allowed} of {self.requests} allowed")


def generate(load: Load, machine: Machine | None = None) -> Report:
    """Run the load generator, with a machine on the load's core. Raises LoadError and ToolsMissingError."""
    options: dict[str, Any] = {
        "address": load.address,
        "path": load.path,
        "bodies": load.bodies,
        "ca": load.authority,
        "connections": load.connections,
        "duration": f"{load.seconds}s",
        "warmup": f"{load.warmup}s",
        "rate": load.rate,
        "limit": load.limit,
    }
    ended = subprocess.run(
        [str(go_program("load")), *(f"-{name}={value}" for name, value in options.items())],
        capture_output=True,
        text=True,
        timeout=load.seconds + load.warmup + _MARGIN,
        preexec_fn=None if machine is None else pinned(machine.load),
        check=False,
    )
    if ended.returncode:
        raise LoadError(ended.stderr.strip())
    return msgspec.json.decode(ended.stdout, type=Report)
