"""Time that a webhook adds to the creation of a pod through a real API server, compared with other ways to edit it."""

from __future__ import annotations

import base64
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPSConnection
from itertools import cycle, islice
from statistics import quantiles
from typing import Any

from bench.admission import CONSTANT_PATCH, Servers, labelled, servers
from bench.candidates import CONSTANT, TYPED, WEBHOOK
from bench.corpus import SIX, reviews
from bench.machine import Machine
from bench.results import Bar, Figure, NoSuchFigureError, Ratio, Results
from bench.rounds import Rounds
from bench.steps import answer
from bench.table import number, table
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.tools import kubernetes_version
from tests.cluster.harness.waiting import wait_for
from webhook.admission import Hook

NAME = "apiserver"
CASE = "a pod of 6 kB"
NONE, GUARD = "no webhook", "guard"
MUTATING, BOTH = f"{WEBHOOK}, mutating hook", f"{WEBHOOK}, both hooks"
P50, P99, ADDED = "p50", "p99", "added p50"
SERVERS = f"{CONSTANT_PATCH} + {CONSTANT}"
METHOD = (
    "pods created one after the other with dryRun=All over one connection to a real API server; a label of the pod "
    "decides which hooks it goes through, and each pod is created once for every candidate, in an order that changes"
)

PODS = "/api/v1/namespaces/default/pods?dryRun=All"
CREATES, WARM_UP = 1_000, 30
_CALLS = "apiserver_admission_webhook_request_total{"

_INTRO = """## Creating a pod

The time of `POST pods?dryRun=All` for a pod whose review has 6 kB. All candidates that change the pod must make the
same pod. A constant answer shows the API server's own price of a call, a constant patch also that of a change.
"""


class NotCreatedError(Exception):
    """The API server rejects a pod that it should accept; the message is its answer."""


class NotSameError(Exception):
    """Two candidates return different pods for the same request: their times cannot be compared."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to admit the pods with a label: its calls to hooks for each, and whether it changes them."""

    name: str
    label: str
    calls: int
    changes: bool


def run(machine: Machine, rounds: Rounds) -> Results:
    """Start a control plane and the servers, and measure all candidates in turn."""
    bodies = reviews("mutated", SIX)
    pods = [_pod(body) for body in bodies]
    try:
        with control_plane() as running, servers(running, machine, _patch(bodies[0])) as beside:
            candidates = configure(beside)
            prove(running, candidates, pods[0])
            create(running, candidates, pods, WARM_UP)
            blocks = [create(running, candidates, pods, rounds.many(CREATES)) for _ in range(rounds.count)]
    except ToolsMissingError as reason:
        return Results.of(NAME, machine, rounds, METHOD, skipped={"all": str(reason)})
    figures = figures_of({one.name: [block[one.name] for block in blocks] for one in candidates})
    return Results.of(
        NAME,
        machine,
        rounds,
        METHOD,
        figures,
        ratios_of(figures),
        beside.skipped,
        notes=(f"Kubernetes {kubernetes_version()}. Webhooks run on one core, the API server on all.",),
    )


def configure(beside: Servers) -> list[Candidate]:
    """Configure the API server for every available candidate. The change may take effect a moment later."""
    found = [Candidate(NONE, "none", calls=0, changes=False), Candidate(GUARD, "guard", calls=0, changes=False)]
    beside.apply_guard("guard")
    one_hook = [(CONSTANT, CONSTANT), (CONSTANT_PATCH, CONSTANT_PATCH), (MUTATING, WEBHOOK), (TYPED, TYPED)]
    for name, server in one_hook:
        if server not in beside.skipped:
            label = name.lower().replace(" ", "-").replace(",", "")
            beside.call_to_mutate(server, label)
            found.append(Candidate(name, label, calls=1, changes=name != CONSTANT))
    beside.call_to_mutate(WEBHOOK, "both")
    beside.call_to_validate(WEBHOOK, "both")
    return [*found, Candidate(BOTH, "both", calls=2, changes=True)]


def prove(running: ControlPlaneOnly, candidates: Sequence[Candidate], pod: Any) -> None:
    """Wait until every candidate is in force, and check that those that change a pod return the same pod.

    Raises NotSameError.
    """
    made: dict[str, Any] = {}
    for candidate in candidates:
        wait_for(f"{candidate.name} to be in force", lambda one=candidate: _in_force(running, one, pod))  # type: ignore[misc]
        if candidate.changes:
            created = running.api.create(PODS, labelled(pod, candidate.label))
            made[candidate.name] = {"annotations": created["metadata"]["annotations"], "spec": created["spec"]}
    require_same(made)


def _in_force(running: ControlPlaneOnly, candidate: Candidate, pod: Any) -> bool:
    """Whether a create calls as many hooks as it should, and changes the pod or does not."""
    before = _calls(running)
    created = running.api.create(PODS, labelled(pod, candidate.label))
    changed = "runtimeClassName" in created["spec"]
    return _calls(running) - before == candidate.calls and changed is candidate.changes


def _calls(running: ControlPlaneOnly) -> int:
    """Calls to hooks since the API server started, by its own count."""
    _, _, text = running.api.request("GET", "/metrics")
    counted = [line for line in text.decode().splitlines() if line.startswith(_CALLS)]
    return sum(int(float(line.rpartition(" ")[2])) for line in counted)


def require_same(made: dict[str, Any]) -> None:
    """Compare the pods that candidates made of one. Raises NotSameError."""
    (name, expected), *others = made.items()
    for other, found in others:
        if found != expected:
            raise NotSameError(
                f"{name} and {other} make different pods: {json.dumps(expected)} and {json.dumps(found)}"
            )


def create(
    running: ControlPlaneOnly, candidates: Sequence[Candidate], pods: Sequence[Any], count: int
) -> dict[str, list[float]]:
    """Milliseconds of `count` creates for each candidate, over one connection."""
    chance = random.Random(count)  # noqa: S311 - an order, not a secret
    times: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
    connection = running.api.connection()
    try:
        for pod in islice(cycle(pods), count):
            for candidate in chance.sample(candidates, len(candidates)):
                body = json.dumps(labelled(pod, candidate.label))
                times[candidate.name].append(_milliseconds(connection, body, running.api.headers()))
    finally:
        connection.close()
    return times


def _milliseconds(connection: HTTPSConnection, body: str, headers: dict[str, str]) -> float:
    began = time.perf_counter()
    connection.request("POST", PODS, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    took = 1000 * (time.perf_counter() - began)
    if answer.status != 201:
        raise NotCreatedError(f"the API server answers {answer.status}: {content[:500].decode(errors='replace')}")
    return took


def _patch(body: bytes) -> str:
    """The webhook's patch for a review: the same for all of them, which differ in names and values only."""
    return base64.b64decode(json.loads(answer(body, Hook.MUTATE).body())["response"]["patch"]).decode()


def _pod(body: bytes) -> Any:
    """The pod of a review as a user would send it: without what the API server adds."""
    pod = json.loads(body)["request"]["object"]
    metadata = {key: pod["metadata"][key] for key in ("name", "labels", "annotations")}
    added = ("priority", "preemptionPolicy")
    spec = {key: value for key, value in pod["spec"].items() if key not in added}
    spec["automountServiceAccountToken"] = False  # a volume with a random name would differ from create to create
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def figures_of(taken: dict[str, list[list[float]]]) -> tuple[Figure, ...]:
    figures = []
    middles = {name: tuple(percentile(times, 50) for times in blocks) for name, blocks in taken.items()}
    for name, blocks in taken.items():
        figures.append(Figure(name, CASE, P50, "ms", middles[name]))
        figures.append(Figure(name, CASE, P99, "ms", tuple(percentile(times, 99) for times in blocks)))
        if name != NONE:
            added = tuple(here - none for here, none in zip(middles[name], middles[NONE], strict=True))
            figures.append(Figure(name, CASE, ADDED, "ms", added))
    return tuple(figures)


def percentile(times: Sequence[float], percent: int) -> float:
    return quantiles(times, n=100, method="inclusive")[percent - 1]


def ratios_of(figures: Sequence[Figure]) -> Iterator[Ratio]:
    """What both hooks add over what two servers add that decide nothing."""
    added = {figure.subject: figure for figure in figures if figure.quantity == ADDED}
    pairs = zip(added[CONSTANT_PATCH].values, added[CONSTANT].values, strict=True)
    servers = Figure(SERVERS, CASE, ADDED, "ms", tuple(map(sum, pairs)))
    yield Ratio.between(added[BOTH], servers, Bar(most=1.1))


def section(found: Results) -> str:
    """A row for each candidate."""
    if not found.figures:
        return f"{_INTRO}\nNot measured: {'; '.join(found.skipped.values())}.\n"
    head = ["", "p50, ms", "p99, ms", "added p50, ms"]
    rows = [[name, *(_written(found, name, quantity) for quantity in (P50, P99, ADDED))] for name in found.subjects]
    skipped = [f"{who} is skipped: {why}." for who, why in found.skipped.items()]
    return "\n".join([_INTRO, table(head, rows), *skipped]) + "\n"


def _written(found: Results, name: str, quantity: str) -> str:
    try:
        return number(found.figure(name, CASE, quantity).spread.middle)
    except NoSuchFigureError:
        return "0"
