"""Which resources of a node are GPUs: the facts, `doctor` and `why` read it by one rule."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw, json

from webhook.cluster import nodes
from webhook.cluster.stack import seen_node
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings


def node(*names: str, **fields: Any) -> dict[str, Any]:
    units = dict.fromkeys(names, "2")
    status = {"allocatable": units, "capacity": units}
    return {"metadata": {"name": "n1", "labels": {}}, "spec": {}, "status": status, **fields}


@pytest.mark.parametrize(
    ("name", "is_gpu"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("nvidia.com/GH100_H100", True),
        ("nvidia.com/gpumem", False),
        ("nvidia.com/gpucores", False),
        ("nvidia.com/vgpu", False),
        ("amd.com/gpu", False),
        ("vpc.amazonaws.com/efa", False),
    ],
)
def test_one_rule(name: str, is_gpu: bool) -> None:
    found, gpus = node(name), GpuResources(Settings().resources)
    decisive = Decisive.of(Settings())
    _, kept = nodes.parser(decisive)(Raw(json.encode(found)))
    assert (kept is not None) == is_gpu
    assert (seen_node(found, gpus) is not None) == is_gpu
    assert [one.name for one in nodes.of_objects([found], decisive)] == (["n1"] if is_gpu else [])


def test_malformed_nodes_of_files_are_left_out() -> None:
    wrong = node("nvidia.com/gpu", spec={"taints": "all"})
    assert seen_node(wrong, GpuResources(())) is None
    assert list(nodes.of_objects([wrong, node("nvidia.com/gpu")], Decisive())) != []
    assert list(nodes.of_objects([wrong], Decisive())) == []
