"""Suite: the webhook beside a real API server with thousands of GPU nodes and namespaces, whose facts it follows."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench.big_cluster import BigCluster, big_cluster, changing
from bench.candidates import AUTHORITY, WEBHOOK, Candidate, Running, health, make_certificates, running, serving
from bench.corpus import TWO, reviews, write
from bench.load_generator import Load, LoadError, Report, generate
from bench.machine import Machine
from bench.results import Bar, Figure, Results
from bench.rounds import Rounds
from bench.table import number, table
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.interpreters import image
from tests.cluster.harness.waiting import wait_for
from webhook.admission import Hook, respond
from webhook.cluster.client import connect
from webhook.cluster.facts import read_facts
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import FactsSettings, Settings

NAME = "scale"
NODES, NAMESPACES = 5_000, 10_000
RATE, CHANGES = 500, 50
CONNECTIONS = 64
SECONDS = 5.0
"""How long the nodes change."""

ALONE, LOADING, CHANGING, IN_PROCESS = (
    "start without reviews",
    f"{RATE} reviews per second while the facts load",
    f"{RATE} reviews per second while {CHANGES} nodes a second change",
    "one review, in process",
)
FIRST, P50, P99, SHED = "start to first snapshot", "p50", "p99", "reviews shed"
MEMORY = "memory"
BARS = {
    (LOADING, P99): Bar(most=10),
    (CHANGING, P99): Bar(most=10),
    (CHANGING, MEMORY): Bar(most=200),
}
REVIEW_BAR = Bar(most=1)
METHOD = (
    "a real etcd and API server at low priority on the load's core, filled before the rounds; the webhook follows "
    "nodes, namespaces and RuntimeClasses on its own core; open loop over TLS 1.3, latency from the planned time; in "
    "process: processor time"
)
_PATIENCE = 120

_REVIEWS = 300
"""Reviews of each shape in process."""

_INTRO = """## Thousands of nodes

The webhook follows the facts of a real API server; every node has 60 labels, and each second has a new snapshot.
"""


def run(machine: Machine, rounds: Rounds) -> Results:
    """Fill a cluster, and start the webhook beside it in every round."""
    make_certificates()
    nodes, namespaces = rounds.many(NODES), rounds.many(NAMESPACES)
    values: dict[tuple[str, str, str], list[float]] = {}
    try:
        with big_cluster(machine, nodes, namespaces) as cluster, tempfile.TemporaryDirectory() as folder:
            facts = asyncio.run(_facts(cluster))
            with _on(machine.load):  # where this process changes the nodes
                for _ in range(rounds.count):
                    for case, quantity, unit, value in _round(cluster, facts, machine, rounds, Path(folder)):
                        values.setdefault((case, quantity, unit), []).append(value)
    except ToolsMissingError as reason:
        return Results.of(NAME, machine, rounds, METHOD, skipped={"all": str(reason)})
    figures = (
        Figure(WEBHOOK, case, quantity, unit, tuple(found), bar(case, quantity))
        for (case, quantity, unit), found in values.items()
    )
    notes = (
        f"{nodes:,} nodes of {cluster.node_size / 1000:.0f} kB and {namespaces:,} namespaces; it took "
        f"{cluster.filled:.0f} s to write them.",
    )
    return Results.of(NAME, machine, rounds, METHOD, figures, notes=notes)


def bar(case: str, quantity: str) -> Bar | None:
    """The goal of a figure."""
    return REVIEW_BAR if case.startswith(IN_PROCESS) else BARS.get((case, quantity))


async def _facts(cluster: BigCluster) -> Facts:
    api = await connect(str(cluster.kubeconfig))
    try:
        return await read_facts(api, FactsSettings(nodes=True, namespaces=True, runtime_classes=True))
    finally:
        await api.close()


def _round(
    cluster: BigCluster, facts: Facts, machine: Machine, rounds: Rounds, folder: Path
) -> Iterator[tuple[str, str, str, float]]:
    """Case, quantity, unit and value of everything that one round shows."""
    candidate = _candidate(cluster, folder)
    began = time.monotonic()
    with running(candidate, machine) as server:
        _wait_first(server, cluster)
        took = time.monotonic() - began
        yield ALONE, FIRST, "s", took
        yield ALONE, MEMORY, "MiB", server.memory()
    bodies = write("mutated", TWO, folder)
    began = time.monotonic()
    with running(candidate, machine) as server, ThreadPoolExecutor(1) as pool:
        # As long as the facts take to load without reviews: with them they take longer.
        loading = pool.submit(_load, server, bodies, max(0.2, took - server.started), machine)
        _wait_first(server, cluster)
        yield LOADING, FIRST, "s", time.monotonic() - began
        yield from latencies(LOADING, loading.result())
        with changing(cluster, CHANGES) as changes:
            report = _load(server, bodies, rounds.seconds(SECONDS), machine)
        yield from latencies(CHANGING, report)
        yield CHANGING, "changes a second", "/s", changes.made / changes.seconds
        yield CHANGING, MEMORY, "MiB", server.memory()
    for shape, times in _in_process(facts, machine, rounds.many(_REVIEWS)):
        yield f"{IN_PROCESS}: {shape}", P50, "ms", quantiles(times, n=100, method="inclusive")[49]
        yield f"{IN_PROCESS}: {shape}", P99, "ms", quantiles(times, n=100, method="inclusive")[98]


def _candidate(cluster: BigCluster, folder: Path) -> Candidate:
    settings = folder / "settings.json"
    facts = {"nodes": True, "namespaces": True, "runtimeClasses": True}
    settings.write_text(json.dumps({"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "facts": facts}))
    options = ["--config", str(settings), "--kubeconfig", str(cluster.kubeconfig)]
    return serving(WEBHOOK, image(), *options)


def _wait_first(server: Running, cluster: BigCluster) -> None:
    """Wait until the server is ready, which it is once it has its first snapshot."""
    wait_for("readiness", lambda: health(server, "/readyz")[0] == 200, seconds=_PATIENCE, every=0.05)
    known = f'gpushare_webhook_facts_objects{{source="nodes"}} {cluster.nodes}.0'
    wait_for("the facts of all nodes", lambda: known in health(server, "/metrics")[1], seconds=_PATIENCE)


def _load(server: Running, bodies: Path, seconds: float, machine: Machine) -> Report:
    load = Load(server.address, bodies, AUTHORITY, CONNECTIONS, seconds, rate=RATE)
    report = generate(load, machine)
    if report.errors or not report.statuses.keys() <= {"200", "503"}:
        raise LoadError(f"the webhook: answers {report.statuses}, failures {report.errors}")
    return report


def latencies(case: str, report: Report) -> Iterator[tuple[str, str, str, float]]:
    """Case, quantity, unit and value of what a load shows."""
    for quantity in (P50, P99):
        yield case, quantity, "ms", report.latency[quantity] * 1000
    yield case, SHED, "%", 100 * report.statuses.get("503", 0) / report.requests


def _in_process(facts: Facts, machine: Machine, count: int) -> Iterator[tuple[str, list[float]]]:
    """Milliseconds of reviews of each shape, on the server's core."""
    evaluator = Evaluator.of(Settings(), facts)
    with _on(machine.server):
        for shape, spec in _SHAPES.items():
            bodies = [_with(body, spec) for body in reviews("mutated", TWO)]
            times = []
            for index in range(count):
                body = bodies[index % len(bodies)]
                began = time.thread_time()
                respond(body, Hook.MUTATE, evaluator).body()
                times.append((time.thread_time() - began) * 1000)
            yield shape, times


@contextmanager
def _on(core: int) -> Iterator[None]:
    """Run this thread on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _with(body: bytes, spec: dict[str, Any]) -> bytes:
    review = json.loads(body)
    review["request"]["object"]["spec"] |= spec
    return json.dumps(review, separators=(",", ":")).encode()


def _requiring(*terms: list[Any]) -> dict[str, Any]:
    found = [{"matchExpressions": expressions} for expressions in terms]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": found}}}
    }


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


_ZONE, _STRATEGY = "topology.kubernetes.io/zone", "nvidia.com/gpu.sharing-strategy"
_SHAPES: dict[str, dict[str, Any]] = {
    "no selector": {},
    "a node selector": {"nodeSelector": {_STRATEGY: "mps", _ZONE: "zone-1"}},
    "three terms of required affinity": _requiring(
        [_expression(_STRATEGY, "NotIn", "time-slicing"), _expression(_ZONE, "In", "zone-0", "zone-1")],
        [_expression("nvidia.com/gpu.memory", "Gt", "40000"), _expression("nvidia.com/mps.capable", "Exists")],
        [_expression("nvidia.com/gpu.replicas", "Lt", "20"), _expression("kubernetes.io/os", "In", "linux")],
    ),
    "a selector that no node matches": {"nodeSelector": {_STRATEGY: "mps", "pool": "missing"}},
}


def section(results: Results) -> str:
    """A row for each case with a server, a column for each quantity, and the slowest review in process."""
    if not results.figures:
        return f"{_INTRO}\nNot measured: {'; '.join(results.skipped.values())}.\n"
    columns = {FIRST: "s", P50: "ms", P99: "ms", MEMORY: "MiB"}
    written = {(figure.case, figure.quantity): figure.spread.middle for figure in results.figures}
    cases = [case for case in dict.fromkeys(case for case, _ in written) if not case.startswith(IN_PROCESS)]
    rows = [[case, *(_cell(written.get((case, quantity))) for quantity in columns)] for case in cases]
    head = ["case", *(f"{quantity}, {unit}" for quantity, unit in columns.items())]
    slowest = max((value for (case, _), value in written.items() if case.startswith(IN_PROCESS)), default=None)
    closing = (
        f"\nIn process, p99 of a review is at most {_cell(slowest)} ms, whatever its selectors.\n" if slowest else ""
    )
    return f"{_INTRO}\n{table(head, rows)}{closing}"


def _cell(value: float | None) -> str:
    return "" if value is None else number(value)
