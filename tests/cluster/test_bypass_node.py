"""What the kubelet does with pods that the webhook lets pass: a real kubelet and device plugin, without any webhook.

`docs/explanation/bypass.md` lists each attempt with its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.manifests import pod

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.workspace import Workspace

WHOLE = {"nvidia.com/gpu.sharing-strategy": "none"}
PASSING: dict[str, tuple[Object, str]] = {
    "windows by its field": ({"os": {"name": "windows"}}, "PodOSNotSupported"),
    "windows by its selector": ({"nodeSelector": {"kubernetes.io/os": "windows"}}, "NodeAffinity"),
    "whole cards": ({"nodeSelector": WHOLE}, "NodeAffinity"),
}


@pytest.mark.parametrize("attempt", PASSING)
def test_kubelet_rejects_pod_on_named_node(space: Workspace, attempt: str) -> None:
    spec, reason = PASSING[attempt]
    (node,) = space.api.items("/api/v1/nodes")
    space.api.create(space.pods, pod("named", nodeName=node["metadata"]["name"], **spec))
    failed = space.wait_failed("named")
    assert failed["status"]["reason"] == reason
    assert failed["status"].get("containerStatuses", []) == [], "no container has started"


def test_bound_pod_is_checked_by_kubelet(space: Workspace) -> None:
    """A binding by hand, as by a scheduler that ignores the pod's selector."""
    space.api.create(space.pods, pod("bound", schedulerName="own", nodeSelector=WHOLE))
    (node,) = space.api.items("/api/v1/nodes")
    target = {"kind": "Node", "name": node["metadata"]["name"]}
    space.api.create(f"{space.pods}/bound/binding", {"metadata": {"name": "bound"}, "target": target})
    failed = space.wait_failed("bound")
    assert failed["status"]["reason"] == "NodeAffinity"
