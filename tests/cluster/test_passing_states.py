"""Maintenance of a node rejects no pod that the node takes in service: the pod waits, and runs when the node is back.

The real node time-slices its card without a limit. Another node, an object alone, shares its cards through MPS. The
webhook runs beside the API server, so that it stays when the node is drained.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.hooks import hooks, local_webhook_process, rejection
from tests.cluster.harness.manifests import CONFIG, STRATEGY, container, deployment, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import ControlPlaneOptions, NodeOptions, mps, time_slicing
from tests.cluster.harness.rights import PLUGIN, PLUGIN_NAMESPACE, create_account
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.workspace import Workspace, workspace
from tests.cluster.sources import CONFIG_MAPS, MPS, two

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

SLICED = {"pool": "sliced", STRATEGY: "time-slicing", CONFIG: "sliced"}
SETTINGS = {
    "profile": "none",
    "limits": {"fromDevicePlugin": True},
    "facts": {"nodes": True, "devicePlugin": {"configMaps": [f"{PLUGIN_NAMESPACE}/{PLUGIN}"]}},
}
FLAGS = ("--node-monitor-grace-period=15s", "--node-monitor-period=1s")
"""How soon a node without a heartbeat counts as unreachable. The kubelet renews its lease every ten seconds."""

NOW = "no node can take the pod now"
UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture(scope="module")
def running(needs_node: None) -> Iterator[Cluster]:
    options = ControlPlaneOptions(controller_manager_flags=FLAGS)
    with clusters.cluster(options, NodeOptions(plugin=time_slicing(4), labels=SLICED)) as started:
        kubeconfig = create_account(started)
        configs = {"sliced": json.dumps(time_slicing(4)), "mps": json.dumps(mps())}
        started.api.create(CONFIG_MAPS, {"metadata": {"name": PLUGIN}, "data": configs})
        with (
            local_webhook_process(started, settings=SETTINGS, kubeconfig=kubeconfig) as beside,
            hooks(started, beside.client_config, lambda: _is_in_force(started)),
            node_object(started, "mps-1", {"pool": "mps", CONFIG: "mps"} | MPS, gpus=4),
        ):
            yield started


@pytest.fixture
def space(running: Cluster, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    with workspace(running, request.node.name) as made:
        yield made


def _is_in_force(cluster: Cluster) -> bool:
    """Whether the webhook is called, and knows how the node shares its card."""
    return "GPS001" in rejection(cluster, two("mps")) and not rejection(cluster, two("sliced"))


def _cordoned(cluster: Cluster) -> AbstractContextManager[None]:
    return cluster.api.patched(f"/api/v1/nodes/{NODE}", {"spec": {"unschedulable": True}})


@contextmanager
def _unreachable(cluster: Cluster) -> Iterator[None]:
    path = f"/api/v1/nodes/{NODE}"
    with cluster.node.without_kubelet():
        cluster.api.wait_for(path, "to be unreachable", lambda node: UNREACHABLE in str(node["spec"]))
        yield
    cluster.api.wait_for(path, "to be ready again", lambda node: UNREACHABLE not in str(node["spec"]))


STATES: dict[str, Callable[[Cluster], AbstractContextManager[None]]] = {
    "cordoned": _cordoned,
    "unreachable": _unreachable,
    "restarting": lambda cluster: cluster.node.without_plugin(),
}


@pytest.mark.parametrize("state", STATES)
def test_pod_waits_for_node_in_passing_state(running: Cluster, space: Workspace, state: str) -> None:
    with STATES[state](running):
        wait_for("the facts", lambda: _is_known(space))
        assert "GPS001" in rejection(running, two("mps"))
        assert "GPS001" in rejection(running, pod("anywhere", container(gpus=2)))
        assert "Warning: GPS014 " in space.run("create", "-f", "-", manifest=two("sliced")).stderr
        space.wait_event("two", "FailedScheduling")
    assert space.wait_running("two")["spec"]["nodeName"] == NODE


def _is_known(space: Workspace) -> bool:
    """Whether the webhook knows that no node can take the pod now."""
    return NOW in space.run("create", "--dry-run=server", "-f", "-", manifest=two("sliced")).stderr


def test_drained_pods_are_replaced_and_wait(running: Cluster, space: Workspace) -> None:
    space.create(deployment("trains", container(gpus=2), nodeSelector={"pool": "sliced"}))
    space.kubectl("rollout", "status", "deployment/trains", "--timeout=180s")
    (before,) = space.api.items(space.pods)
    with _cordoned(running):
        wait_for("the facts", lambda: _is_known(space))
        running.kubectl("drain", NODE, "--pod-selector=app=trains", "--timeout=180s")
        waiting = wait_for("a replacement", lambda: _waiting(space))
        assert waiting["metadata"]["name"] != before["metadata"]["name"]
        events = space.api.items(f"/api/v1/namespaces/{space.name}/events?fieldSelector=reason=FailedCreate")
        assert events == []
    space.kubectl("rollout", "status", "deployment/trains", "--timeout=180s")


def _waiting(space: Workspace) -> Object | None:
    """The pod that the scheduler finds no node for."""
    for found in space.api.items(space.pods):
        for condition in found["status"].get("conditions", ()):
            if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
                return found
    return None
