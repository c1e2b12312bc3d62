"""What a hook adds to the creation of a pod through a real API server, beside other ways to make the same edits."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import quantiles
from typing import Any

from bench.admission import CONSTANT_PATCH, Places, places
from bench.candidates import CONSTANT, TYPED, WEBHOOK
from bench.corpus import SIX, reviews
from bench.machine import Machine
from bench.results import Bar, Figure, NoSuchFigureError, Ratio, Results
from bench.rounds import Rounds
from bench.steps import answer
from bench.table import number, ratio, table
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.tools import kubernetes_version
from webhook.admission import Hook

NAME = "apiserver"
CASE = "a pod of 6 kB"
NONE, POLICY = "no webhook", "MutatingAdmissionPolicy"
MUTATING, BOTH = f"{WEBHOOK}, mutating hook", f"{WEBHOOK}, both hooks"
P50, P99, ADDED, ADDED_A_HOOK = "p50", "p99", "added p50", "added p50 a hook"
METHOD = (
    "pods created one after the other with dryRun=All over one connection to a real API server, whose configuration "
    "changes between blocks; a block begins when the API server calls exactly the hooks it should"
)

PODS = "/api/v1/namespaces/default/pods?dryRun=All"
CREATES, WARM_UP = 1_000, 30
_MOST_ADDED = 1.1

_INTRO = """## Creating a pod

The time of `POST pods?dryRun=All` for a pod whose review has 6 kB, through a real API server, one pod after the other.
The policy, the webhook with a constant patch, the Go webhook and this webhook have to make the same pod of it.

A webhook with a constant answer changes nothing: what it adds is the API server's own price of a call, with TLS and
HTTP. One with a constant patch adds the API server's price of a change, which applies the patch and admits the changed
pod.
"""


class NotSameError(Exception):
    """Two candidates make different pods of the same one: their times cannot be compared."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to admit pods: how the API server is configured for it, whether it changes pods, and its calls a create."""

    name: str
    configured: Callable[[Callable[[], bool]], AbstractContextManager[None]]
    changes: bool
    calls: int


def run(machine: Machine, rounds: Rounds) -> Results:
    """Start a control plane and the servers, and measure all candidates in turn."""
    try:
        bodies = reviews("mutated", SIX)
        with control_plane() as running, places(running, machine, _patch(bodies[0])) as made:
            return measure(running, made, [_pod(body) for body in bodies], machine, rounds)
    except ToolsMissingError as reason:
        return Results(NAME, machine, rounds.count, rounds.share, METHOD, skipped={"all": str(reason)})


def measure(running: ControlPlaneOnly, made: Places, pods: Sequence[Any], machine: Machine, rounds: Rounds) -> Results:
    """A block of creates for each candidate in each round; each round begins with another candidate."""
    candidates = _candidates(made)
    taken: dict[str, list[list[float]]] = {one.name: [] for one in candidates}
    results: dict[str, Any] = {}
    for turn in range(rounds.count):
        first = turn % len(candidates)
        for candidate in (*candidates[first:], *candidates[:first]):
            with candidate.configured(lambda candidate=candidate: _in_force(running, candidate, pods[0])):  # type: ignore[misc]
                if candidate.changes:
                    results[candidate.name] = _essence(running.api.create(PODS, pods[0]))
                    require_same(results)
                _create(running, pods, WARM_UP)
                taken[candidate.name].append(_create(running, pods, rounds.many(CREATES)))
    figures = figures_of(taken)
    return Results(
        NAME,
        machine,
        rounds.count,
        rounds.share,
        METHOD,
        figures,
        tuple(ratios_of(figures)),
        made.skipped,
        notes=(f"Kubernetes {kubernetes_version()}. Webhooks run on one core, the API server on all.",),
    )


def _candidates(made: Places) -> list[Candidate]:
    found = [
        Candidate(NONE, made.nothing, changes=False, calls=0),
        Candidate(POLICY, made.policy, changes=True, calls=0),
        Candidate(CONSTANT, lambda known: made.webhook(CONSTANT, known), changes=False, calls=1),
        Candidate(CONSTANT_PATCH, lambda known: made.webhook(CONSTANT_PATCH, known), changes=True, calls=1),
        Candidate(MUTATING, lambda known: made.webhook(WEBHOOK, known), changes=True, calls=1),
        Candidate(BOTH, lambda known: made.webhook(WEBHOOK, known, validates=True), changes=True, calls=2),
    ]
    if TYPED not in made.skipped:
        found.append(Candidate(TYPED, lambda known: made.webhook(TYPED, known), changes=True, calls=1))
    return found


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


def _in_force(running: ControlPlaneOnly, candidate: Candidate, pod: Any) -> bool:
    """Whether the API server calls exactly this candidate: no hook of another, and every one of its own."""
    before = _calls(running)
    created = running.api.create(PODS, pod)
    changed = "runtimeClassName" in created["spec"]
    return _calls(running) - before == candidate.calls and changed is candidate.changes


def _calls(running: ControlPlaneOnly) -> int:
    """Calls to hooks since the API server started, by its own count."""
    _, _, text = running.api.request("GET", "/metrics")
    counted = [
        line for line in text.decode().splitlines() if line.startswith("apiserver_admission_webhook_request_total{")
    ]
    return sum(int(float(line.rpartition(" ")[2])) for line in counted)


def _essence(pod: Any) -> Any:
    """What of a created pod is the same however often it is created."""
    return {"annotations": pod["metadata"]["annotations"], "spec": pod["spec"]}


def require_same(results: dict[str, Any]) -> None:
    (name, expected), *others = results.items()
    for other, found in others:
        if found != expected:
            raise NotSameError(
                f"{name} and {other} make different pods: {json.dumps(expected)} and {json.dumps(found)}"
            )


def _create(running: ControlPlaneOnly, pods: Sequence[Any], count: int) -> list[float]:
    """Milliseconds of each of so many creates, over one connection."""
    headers = running.api.headers()
    bodies = [json.dumps(pod) for pod in islice(cycle(pods), count)]
    times = []
    connection = running.api.connection()
    try:
        for body in bodies:
            began = time.perf_counter()
            connection.request("POST", PODS, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            times.append(1000 * (time.perf_counter() - began))
            if answer.status != 201:
                raise RuntimeError(f"the API server answers {answer.status}: {content[:500]!r}")
    finally:
        connection.close()
    return times


def figures_of(taken: dict[str, list[list[float]]]) -> tuple[Figure, ...]:
    figures = []
    middles = {name: tuple(percentile(times, 50) for times in blocks) for name, blocks in taken.items()}
    for name, blocks in taken.items():
        figures.append(Figure(name, CASE, P50, "ms", middles[name]))
        figures.append(Figure(name, CASE, P99, "ms", tuple(percentile(times, 99) for times in blocks)))
        if name != NONE:
            added = tuple(here - none for here, none in zip(middles[name], middles[NONE], strict=True))
            hooks = 2 if name == BOTH else 1
            figures.append(Figure(name, CASE, ADDED, "ms", added))
            figures.append(Figure(name, CASE, ADDED_A_HOOK, "ms", tuple(one / hooks for one in added)))
    return tuple(figures)


def percentile(times: Sequence[float], percent: int) -> float:
    return quantiles(times, n=100, method="inclusive")[percent - 1]


def ratios_of(figures: Sequence[Figure]) -> Iterator[Ratio]:
    added = {figure.subject: figure for figure in figures if figure.quantity == ADDED_A_HOOK}
    for ours in (MUTATING, BOTH):
        yield Ratio.between(added[ours], added[CONSTANT], Bar(most=_MOST_ADDED))
        if TYPED in added:
            yield Ratio.between(added[ours], added[TYPED], Bar(most=1))
        yield Ratio.between(added[ours], added[CONSTANT_PATCH])
        yield Ratio.between(added[ours], added[POLICY])


def section(found: Results) -> str:
    """A row for each candidate."""
    if not found.figures:
        return f"{_INTRO}\nNot measured: {'; '.join(found.skipped.values())}.\n"
    head = ["", "p50, ms", "p99, ms", "added p50, ms", "a hook / constant answer", "a hook / constant patch"]
    rows = [
        [
            name,
            *(_written(found, name, quantity) for quantity in (P50, P99, ADDED)),
            *(_over(found, name, other) for other in (CONSTANT, CONSTANT_PATCH)),
        ]
        for name in dict.fromkeys(figure.subject for figure in found.figures)
    ]
    skipped = [f"{who} is skipped: {why}." for who, why in found.skipped.items()]
    return "\n".join([_INTRO, table(head, rows), *found.notes, *skipped]) + "\n"


def _written(found: Results, name: str, quantity: str) -> str:
    try:
        return found.figure(name, CASE, quantity).spread.write(number)
    except NoSuchFigureError:
        return "0"


def _over(found: Results, name: str, other: str) -> str:
    if name == NONE:
        return "0"
    added, over = (found.figure(one, CASE, ADDED_A_HOOK) for one in (name, other))
    return Ratio.between(added, over).spread.write(ratio)
