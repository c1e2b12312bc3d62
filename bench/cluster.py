"""A synthetic cluster of many GPU nodes and namespaces, in the form of a facts file."""

from __future__ import annotations

from typing import Any

from webhook.settings.configuration import API_VERSION
from webhook.settings.facts_file import FACTS_KIND

_STRATEGIES = ("mps", "mps", "none")
_MODELS = ("A100", "L40S", "H100")


def cluster(nodes: int = 0, namespaces: int = 0) -> dict[str, Any]:
    """Facts of a number of nodes and namespaces, unknown if 0; two thirds of the nodes share GPUs through MPS.

    The first namespace is that of the recorded reviews.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": FACTS_KIND,
        "nodes": [_node(number) for number in range(nodes)] or None,
        "namespaces": [_namespace(number) for number in range(namespaces)] or None,
    }


def _node(number: int) -> dict[str, Any]:
    strategy = _STRATEGIES[number % len(_STRATEGIES)]
    labels = {
        "kubernetes.io/hostname": f"gpu-{number:05}",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": _MODELS[number % 7 % len(_MODELS)],
        "nvidia.com/gpu.sharing-strategy": strategy,
        "nvidia.com/mps.capable": str(strategy == "mps").lower(),
    }
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    resources = {"nvidia.com/gpu": 8 if strategy == "none" else 80}
    return {"name": f"gpu-{number:05}", "labels": labels, "taints": [taint], "resources": resources}


def _namespace(number: int) -> dict[str, Any]:
    name = f"team-{number}" if number else "team-a"
    return {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
