"""The scheduler places pods on exactly the nodes that the policy predicts, in generated clusters with mixed nodes.

The nodes have no kubelet, because the scheduler decides by their objects alone. Every pod meets an empty cluster.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import jsonpatch
import pytest

from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.manifests import CLASSES, PODS
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.rights import PLUGIN, PLUGIN_NAMESPACE
from tests.cluster.harness.waiting import wait_for
from tests.cluster.mixed import CORDONED, amounts, demand, mixed_cluster, mixed_pod, plugin_configs
from tests.cluster.sources import CONFIG_MAPS, DAEMON_SETS, daemon_set
from tests.scheduler import admits
from webhook.cluster.client import connect
from webhook.cluster.facts import read_facts
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.patch.build import build
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.reachability import Reachability
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings, Injections, Limits, Settings, SteeringInjection
from webhook.policy.verdict import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.cluster.harness.api import Api, Object
    from tests.cluster.mixed import MixedCluster, MixedNode


NODES = "/api/v1/nodes"
PODS_OF_A_CLUSTER = 90
MOST_UNKNOWN = 0.2
STEERING_PODS = 400
# The device plugin has no limit for a pod as a whole, so the settings have none either.
SETTINGS = Settings(limits=Limits(per_pod=None, from_device_plugin=True))
STEERING = replace(SETTINGS, injections=Injections(steering=SteeringInjection(enabled=True)))
WHERE = f"{PLUGIN_NAMESPACE}/{PLUGIN}"
WANTED = FactsSettings(nodes=True, runtime_classes=True, device_plugin=DevicePluginSource((WHERE,), WHERE))


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    flags = ("--node-monitor-grace-period=1h",)  # the nodes send no heartbeats
    # On loopback, where this process can read the facts.
    with control_plane(ControlPlaneOptions(controller_manager_flags=flags), place=Loopback) as started:
        started.api.create(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        started.api.create("/api/v1/namespaces", {"metadata": {"name": PLUGIN_NAMESPACE}})
        started.api.create(CONFIG_MAPS, {"metadata": {"name": PLUGIN}, "data": plugin_configs()})
        yield started


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the policy says of a pod: the nodes that could take it, how they share, and whether the pod is denied.

    `mutated` is the pod as the webhook mutates it. `mps` and `time_slicing` hold the answers by resource.
    """

    mutated: Object
    candidates: frozenset[str]
    mps: Mapping[str, Reachability]
    time_slicing: Mapping[str, Reachability]
    denied: bool


def _predict(evaluator: OfflineEvaluator, asks: Object) -> Prediction:
    origin = RequestContext("default", groups=())
    (extracted,) = evaluator.pods(asks, "", "Pod")
    context = evaluator.context(extracted, origin)
    placement = context.placement
    shared = {one.resource.name: one.resource for one in context.requests.positive if one.resource.kind == "shared"}
    verdict = evaluator.evaluate(asks, "", "Pod", origin)
    return Prediction(
        jsonpatch.apply_patch(asks, build(asks, verdict.edits)),
        frozenset(node.name for node in placement.cluster.index.nodes(placement.candidates)),
        {name: placement.lands(resource) for name, resource in shared.items()},
        {name: placement.lands(resource, "time-slicing") for name, resource in shared.items()},
        verdict.decision is Decision.DENIED,
    )


async def _facts(kubeconfig: Path) -> Facts:
    """The facts of the live cluster."""
    api = await connect(str(kubeconfig))
    try:
        return await read_facts(api, WANTED)
    finally:
        await api.close()


def _assert_sharing(prediction: Prediction, taking: list[MixedNode]) -> None:
    """YES: all nodes that could take the pod share the resource in this way. NO: none does."""
    for strategy, answers in (("mps", prediction.mps), ("time-slicing", prediction.time_slicing)):
        sharing = {node.name for node in taking if node.kind.strategy == strategy}
        for resource, answer in answers.items():
            if answer is Reachability.NO:
                assert not sharing, (resource, prediction)
            if answer is Reachability.YES:
                assert sharing == {node.name for node in taking}, (resource, prediction)


def _assert_limits(prediction: Prediction, cluster: MixedCluster, taking: list[MixedNode]) -> None:
    """An admitted pod meets no device plugin that refuses it. A denied pod meets one, or no node at all.

    While a device plugin restarts, the amount of its node is unknown, so that a pod may be denied because of a node
    that turns out to be too small.
    """
    if prediction.denied:
        unclear = [node for node in cluster.nodes if node.restarting]
        assert not taking or _refusing(prediction, cluster, [*taking, *unclear]), prediction
    else:
        assert not _refusing(prediction, cluster, taking), prediction


def _refusing(prediction: Prediction, cluster: MixedCluster, nodes: list[MixedNode]) -> list[MixedNode]:
    asked = amounts(prediction.mutated)
    return [node for node in nodes if any(node.kind.refuses(each, cluster.version) for each in asked)]


def _takes_later(node: MixedNode, asks: Object) -> bool:
    """Whether a node takes the pod once it is uncordoned and its device plugin runs."""
    if not (node.cordoned or node.restarting):
        return False
    taints = tuple(Taint(taint["key"], taint["effect"], taint.get("value", "")) for taint in node.taints)
    offers = all(units <= node.resources.get(name, 0) for name, units in demand(asks).items())
    return offers and admits({"spec": {"nodeSelector": {}} | asks["spec"]}, Node(node.name, node.labels, taints))


@dataclass(slots=True)
class Tally:
    """What became of the pods of a cluster.

    `open`: nodes of several strategies could take the pod, so that the scheduler's choice decides how it shares.
    `unknown`: the policy cannot say how the pod shares, although all nodes that could take it share in one way, or
    none could take it.
    """

    placed: int = 0
    denied: int = 0
    open: int = 0
    unknown: int = 0

    def add(self, prediction: Prediction, found: list[MixedNode]) -> None:
        """Count a pod for which the scheduler finds these nodes."""
        answers = (*prediction.mps.values(), *prediction.time_slicing.values())
        is_open = len({node.kind.strategy for node in found}) > 1
        self.placed += bool(found)
        self.denied += prediction.denied
        self.open += is_open
        self.unknown += Reachability.UNKNOWN in answers and not is_open


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 6))])
def test_scheduler_places_pods_on_predicted_nodes(
    running: ControlPlaneOnly, seed: int, record_property: Callable[[str, object], None]
) -> None:
    random = Random(seed)  # noqa: S311
    cluster = mixed_cluster(random)
    tally = Tally()
    with stored_nodes(running.api, cluster), running.api.created(DAEMON_SETS, daemon_set(cluster.version)):
        evaluator = OfflineEvaluator.of(SETTINGS, asyncio.run(_facts(running.control.kubeconfigs["admin"])))
        for index in range(PODS_OF_A_CLUSTER):
            prediction = _predict(evaluator, mixed_pod(random, f"pod-{index}", cluster))
            nodes = feasible(running.api, prediction.mutated, prediction.candidates)
            assert nodes == prediction.candidates, prediction
            found = [node for node in cluster.nodes if node.name in nodes]
            taking = [*found, *(node for node in cluster.nodes if _takes_later(node, prediction.mutated))]
            _assert_sharing(prediction, taking)
            _assert_limits(prediction, cluster, taking)
            tally.add(prediction, found)
    record_property(f"of {PODS_OF_A_CLUSTER} pods", str(tally))
    assert tally.unknown < MOST_UNKNOWN * PODS_OF_A_CLUSTER


@pytest.mark.parametrize("seed", [6, pytest.param(7, marks=pytest.mark.exhaustive)])
def test_steered_pods_land_on_whole_cards(
    running: ControlPlaneOnly, seed: int, record_property: Callable[[str, object], None]
) -> None:
    random = Random(seed)  # noqa: S311
    cluster = mixed_cluster(random)
    steered = placed = 0
    with stored_nodes(running.api, cluster), running.api.created(DAEMON_SETS, daemon_set(cluster.version)):
        evaluator = OfflineEvaluator.of(STEERING, asyncio.run(_facts(running.control.kubeconfigs["admin"])))
        for index in range(STEERING_PODS):
            asks = mixed_pod(random, f"pod-{index}", cluster)
            prediction = _predict(evaluator, asks)
            if prediction.denied or prediction.mutated["spec"].get("affinity") == asks["spec"].get("affinity"):
                continue
            steered += 1
            expected = _predict(evaluator, prediction.mutated).candidates
            nodes = feasible(running.api, prediction.mutated, expected)
            assert nodes == expected, prediction
            assert {node.kind.strategy for node in cluster.nodes if node.name in nodes} <= {"none"}, prediction
            placed += bool(nodes)
    record_property(f"of {STEERING_PODS} pods", f"{steered} steered, {placed} placed")
    assert placed


@contextmanager
def stored_nodes(api: Api, cluster: MixedCluster) -> Iterator[None]:
    """Store the nodes of a cluster and wait until the scheduler may use them; delete them at the end."""
    for node in cluster.nodes:
        api.create(NODES, _node_object(node))
    try:
        # The node controller replaces its own taints as soon as it has seen a node's conditions.
        wait_for("the nodes to be found ready", lambda: _has_own_taints(api, cluster))
        yield
    finally:
        api.delete(NODES)
        wait_for("the nodes to be gone", lambda: not api.items(NODES))


def _node_object(node: MixedNode) -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    room = {"cpu": "8", "memory": "8Gi", "pods": "100"} | {name: str(units) for name, units in node.offered.items()}
    ready = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now}
    return {
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": list(node.taints), "unschedulable": node.cordoned},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def _has_own_taints(api: Api, cluster: MixedCluster) -> bool:
    taints = {node["metadata"]["name"]: _taints(node) for node in api.items(NODES)}
    return all(
        taints[node.name] == sorted(map(str, (*node.taints, *([CORDONED] if node.cordoned else []))))
        for node in cluster.nodes
    )


def _taints(node: Object) -> list[str]:
    kept = ("key", "value", "effect")
    return sorted(
        str({name: taint[name] for name in kept if name in taint}) for taint in node["spec"].get("taints", [])
    )


def feasible(api: Api, asks: Object, expected: frozenset[str]) -> frozenset[str]:
    """The nodes on which the scheduler places a pod in an empty cluster.

    Creates one copy of the pod more than there are expected nodes. Waits until the copies are on all expected nodes and
    the scheduler finds no node for the last one. If that does not happen, returns the nodes that it chose until then.
    """
    with _copies(api, asks, len(expected) + 1):
        with suppress(TimeoutError):
            wait_for("the decisions", lambda: _is_decided(api.items(PODS), expected), every=0.02)
        return _nodes(api.items(PODS))


@contextmanager
def _copies(api: Api, asks: Object, count: int) -> Iterator[None]:
    """Create copies of a pod that need the same port of their node, so that each takes a node of its own."""
    for index in range(count):
        copy = deepcopy(asks)
        copy["metadata"]["name"] += f"-{index}"
        copy["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        api.create(PODS, copy)
    try:
        yield
    finally:
        api.delete(f"{PODS}?gracePeriodSeconds=0")  # no kubelet ends them
        wait_for("the pods to be gone", lambda: not api.items(PODS), every=0.02)


def _is_decided(pods: list[Object], expected: frozenset[str]) -> bool:
    nodes = _nodes(pods)
    if nodes - expected:
        return True  # a wrong node
    return nodes == expected and any(_is_unschedulable(pod) for pod in pods)


def _nodes(pods: list[Object]) -> frozenset[str]:
    return frozenset(pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName"))


def _is_unschedulable(pod: Object) -> bool:
    return any(
        condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable"
        for condition in pod.get("status", {}).get("conditions", ())
    )
