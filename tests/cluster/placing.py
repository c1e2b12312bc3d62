"""Nodes without a kubelet in a control plane, and the scheduler's answer to where a pod could run."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.cluster.harness.waiting import wait_for
from tests.cluster.mixed import CORDONED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Api, Object
    from tests.cluster.mixed import MixedCluster, MixedNode

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"


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
            wait_for("the decisions", lambda: _is_decided(api.items(PODS), expected), seconds=15, every=0.02)
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
