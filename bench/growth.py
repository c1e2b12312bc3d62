"""Suite: how the cost of a review grows with the pod and with the cluster, in process."""

from __future__ import annotations

import copy
import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from bench.charts import Line, Panel, line_chart, linear, scaled
from bench.cluster import cluster
from bench.corpus import REVIEWS, encoded
from bench.machine import Machine
from bench.results import Figure, Results
from bench.rounds import Rounds
from bench.table import number, table
from webhook.admission import Hook, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import Settings
from webhook.settings.load import load_facts

WEBHOOK = "gpushare-webhook"
COST = "processor time of a review"
SECONDS = 0.15
DIFFERENT = 32

METHOD = (
    "decode, decision with all checks, patch, proof and answer in one process, without HTTP; processor time on one "
    "core, garbage collector on, sizes in turn"
)


@dataclass(frozen=True, slots=True)
class Dimension:
    """One growing dimension: its name, its sizes, and the pod and the facts of each size."""

    name: str
    sizes: tuple[int, ...]
    pod: Callable[[Any, int], None]
    facts: Callable[[int], Facts]


def _containers(pod: Any, size: int) -> None:
    (first,) = pod["spec"]["containers"]
    others = [{**copy.deepcopy(first), "name": f"side-{index}", "resources": {}} for index in range(size - 1)]
    pod["spec"]["containers"] += others


def _variables(pod: Any, size: int) -> None:
    pod["spec"]["containers"][0]["env"] = [{"name": f"NAME_{index}", "value": "0" * 24} for index in range(size)]


def _terms(pod: Any, size: int) -> None:
    terms = [
        {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [f"zone-{index}"]}]}
        for index in range(size)
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    if terms:
        pod["spec"]["affinity"] = {"nodeAffinity": required}


def _same(_: Any, __: int) -> None:
    """The pod stays as it is."""


def _unknown(_: int) -> Facts:
    return UNKNOWN


def _facts(content: dict[str, Any]) -> Facts:
    return load_facts(content, lambda _: (1, 1), "made-up facts")


DIMENSIONS = (
    Dimension("containers", (1, 10, 25, 50, 100), _containers, _unknown),
    Dimension("variables", (0, 100, 250, 500, 1000), _variables, _unknown),
    Dimension("affinity terms", (0, 10, 25, 50, 100), _terms, _unknown),
    Dimension("nodes", (0, 500, 1000, 2500, 5000), _same, lambda size: _facts(cluster(nodes=size))),
    Dimension("namespaces", (0, 500, 1000, 2500, 5000), _same, lambda size: _facts(cluster(namespaces=size))),
)


def run(machine: Machine, rounds: Rounds) -> Results:
    """Measure every size of every dimension, on the server's core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {machine.server})
    try:
        values: dict[tuple[str, int], list[float]] = {}
        prepared = [(dimension.name, size, _answering(dimension, size)) for dimension, size in _all()]
        for _ in range(rounds.count):
            for name, size, answer in prepared:
                values.setdefault((name, size), []).append(_cost(answer, rounds.seconds(SECONDS)))
    finally:
        os.sched_setaffinity(0, before)
    figures = tuple(
        Figure(WEBHOOK, f"{size} {name}", COST, "µs", tuple(found)) for (name, size), found in values.items()
    )
    return Results.of("growth", machine, rounds, METHOD, figures)


def _all() -> Iterator[tuple[Dimension, int]]:
    for dimension in DIMENSIONS:
        for size in dimension.sizes:
            yield dimension, size


def _answering(dimension: Dimension, size: int) -> Callable[[], object]:
    """A call that answers the next of some different reviews."""
    evaluator = Evaluator.of(Settings(), dimension.facts(size))
    bodies = cycle(_reviews(dimension, size))
    return lambda: respond(next(bodies), Hook.MUTATE, evaluator).body()


def _reviews(dimension: Dimension, size: int) -> list[bytes]:
    recorded = json.loads((REVIEWS / "create-pod-vectoradd.json").read_text())
    pod = recorded["request"]["object"]
    dimension.pod(pod, size)
    found = []
    for index in range(DIFFERENT):
        pod["metadata"]["name"] = f"vectoradd-{index}"
        for container in pod["spec"]["containers"]:
            for place, variable in enumerate(container.get("env", ())):
                variable["value"] = f"{index:012}{place:012}"
        found.append(encoded(recorded))
    return found


def _cost(answer: Callable[[], object], seconds: float) -> float:
    """Microseconds of CPU time per call."""
    gc.collect()
    answer()
    calls, began = 0, time.process_time()
    while (spent := time.process_time() - began) < seconds:
        for _ in range(8):
            answer()
        calls += 8
    return spent / calls * 1e6


def section(results: Results) -> str:
    """What a review costs as its pod and the cluster grow."""
    rows = []
    for dimension in DIMENSIONS:
        spreads = [results.figure(WEBHOOK, f"{size} {dimension.name}", COST).spread for size in dimension.sizes]
        sizes = zip(dimension.sizes, spreads, strict=True)
        rows.append([dimension.name, *(f"{size:,}: {number(spread.middle)}" for size, spread in sizes)])
    head = ["what grows", "", "", "", "", ""]
    return f"""\
## How the cost grows

![Cost of a review as pod and cluster grow](performance/growth.svg)

Processor time of a whole answer without HTTP, in µs, for the recorded pod `vectoradd` as one thing in it or in the
cluster grows; 0 nodes or namespaces means that nothing is known of them.

{table(head, rows)}"""


def plots(results: Results) -> dict[str, str]:
    """One panel for each thing that grows."""
    panels = [
        Panel(
            dimension.name,
            "",
            [
                Line(
                    0,
                    [
                        (size, results.figure(WEBHOOK, f"{size} {dimension.name}", COST).spread)
                        for size in dimension.sizes
                    ],
                )
            ],
            scaled,
            linear,
        )
        for dimension in DIMENSIONS
    ]
    return {"growth.svg": line_chart("Cost of a review", "µs of processor time, in process", (), panels)}
