"""A node with only one of the two MPS labels: it takes pods that exclude the other label, and fails them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import CAPABLE, GPU, STRATEGY, container, deployment, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

MPS_LABEL = {CAPABLE: "true"}
WHOLE_LABELS = {STRATEGY: "none", CAPABLE: "false"}
WHOLE = "whole-1"
# The server reads nodes from its facts file.
FACTS = {
    "nodes": [
        {"name": NODE, "labels": MPS_LABEL, "resources": {GPU: 10}},
        {"name": WHOLE, "labels": WHOLE_LABELS, "resources": {GPU: 4}},
    ]
}
BOTH_EXCLUDED = [
    {"key": STRATEGY, "operator": "NotIn", "values": ["mps", "time-slicing"]},
    {"key": CAPABLE, "operator": "NotIn", "values": ["true"]},
]
GPS001 = (
    'GPS001 container "main" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS; '
    "ask for 1{}, or require whole cards (1 node shares it through MPS, 1 node offers whole cards) by node affinity: "
    'nvidia.com/gpu.sharing-strategy NotIn ["mps", "time-slicing"] and nvidia.com/mps.capable NotIn ["true"]'
)


@pytest.fixture(scope="module", autouse=True)
def _labelled(cluster: Cluster) -> Iterator[None]:
    """The node, which shares its GPU through MPS, has the label `nvidia.com/mps.capable` and no strategy."""
    with cluster.node.marked(MPS_LABEL):
        yield


def _requiring(*expressions: Object) -> dict[str, Any]:
    """The field of a pod's spec that requires nodes to match these expressions."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


EXCLUDES_STRATEGY = _requiring({"key": STRATEGY, "operator": "NotIn", "values": ["mps"]})


def _create(space: Workspace, manifest: Object) -> str:
    """What kubectl writes to its standard error."""
    return space.run("create", "-f", "-", manifest=manifest).stderr


def test_pod_excluding_one_mps_label_is_rejected_instead_of_pod_storm(space: Workspace) -> None:
    # NotIn also matches nodes without the label, so the scheduler binds the pods to the MPS node: its kubelet fails
    # each, and the ReplicaSet creates the next one.
    storm = deployment("storm", container(gpus=2), **EXCLUDES_STRATEGY)
    assert _create(space, storm) == ""
    wait_for("a third failed pod", lambda: len(space.failed()) >= 3)
    assert {one["spec"]["nodeName"] for one in space.failed()} == {NODE}
    space.kubectl("delete", "deployment", "storm", "--cascade=foreground", "--timeout=180s")
    with webhook(space.cluster, facts=FACTS):
        for refused in (storm, pod("two", container(gpus=2), **EXCLUDES_STRATEGY)):
            unless = " unless the namespace selects nodes" if refused is storm else ""
            ending = f"denied the request: {GPS001.format(unless)}\ngpushare-webhook explain GPS001\n"
            assert _create(space, refused).endswith(ending)
        assert space.api.items(space.pods) == []


def test_remedy_of_rejection_binds_pod_to_whole_card_node(space: Workspace) -> None:
    with webhook(space.cluster, facts=FACTS):
        assert _create(space, pod("two", container(gpus=2), **_requiring(*BOTH_EXCLUDED))) == ""
        _assert_bound_to_whole_card_node(space, "two")


def test_steered_pod_stays_off_node_with_one_label(space: Workspace) -> None:
    with webhook(space.cluster, settings={"injections": {"steering": {"enabled": True}}}, facts=FACTS):
        for name, spec in {"plain": {}, "excludes": EXCLUDES_STRATEGY}.items():
            assert _create(space, pod(name, container(gpus=2), **spec)) == ""
            required = space.stored("Pod", name)["spec"]["affinity"]["nodeAffinity"]
            (term,) = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            assert term["matchExpressions"][-2:] == BOTH_EXCLUDED
        _assert_bound_to_whole_card_node(space, "plain", "excludes")


def _assert_bound_to_whole_card_node(space: Workspace, *names: str) -> None:
    """Assert that pods wait while the MPS node is the only one, and that a whole-card node takes them."""
    for name in names:
        event = space.wait_event(name, "FailedScheduling")
        assert "1 node(s) didn't match Pod's node affinity/selector" in event["message"]
    with node_object(space.cluster, WHOLE, WHOLE_LABELS, gpus=4):
        for name in names:
            bound = space.wait_bound(name)
            assert bound["spec"]["nodeName"] == WHOLE
