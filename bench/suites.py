"""The suites, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench import apiserver, commands, footprint, growth, latency, micro, scale, throughput
from bench.machine import Machine
from bench.results import Results
from bench.rounds import Rounds


def _none(_: Results) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite: how to run it, its section of the page, and its plots (SVG, by the name of the file)."""

    name: str
    run: Callable[[Machine, Rounds], Results]
    section: Callable[[Results], str]
    plots: Callable[[Results], Mapping[str, str]] = _none


SUITES = (
    Suite("throughput", throughput.run, throughput.section, throughput.plots),
    Suite("latency", latency.run, latency.section, latency.plots),
    Suite("footprint", footprint.run, footprint.section),
    Suite("growth", growth.run, growth.section, growth.plots),
    Suite(scale.NAME, scale.run, scale.section),
    Suite(apiserver.NAME, apiserver.run, apiserver.section),
    Suite(micro.NAME, micro.run, micro.section),
    Suite(commands.NAME, commands.run, commands.section),
)
