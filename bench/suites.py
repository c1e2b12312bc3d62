"""The suites, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import apiserver, commands, footprint, latency, micro, scale, throughput
from bench.machine import Machine
from bench.results import Results
from bench.rounds import Rounds


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite: how to run it, and its section of the page."""

    name: str
    run: Callable[[Machine, Rounds], Results]
    section: Callable[[Results], str]


SUITES = (
    Suite("throughput", throughput.run, throughput.section),
    Suite("latency", latency.run, latency.section),
    Suite("footprint", footprint.run, footprint.section),
    Suite(scale.NAME, scale.run, scale.section),
    Suite(apiserver.NAME, apiserver.run, apiserver.section),
    Suite(micro.NAME, micro.run, micro.section),
    Suite(commands.NAME, commands.run, commands.section),
)
