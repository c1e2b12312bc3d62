"""GPU nodes as facts, without the client that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import LabelledMetadata, Rule
from webhook.cluster.pool import Pool
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import Node, NodePart, Taint
from webhook.policy.placement.node_bounds import MOST, Decisive, bounded, taint_order
from webhook.policy.pods.quantity import NANO, QuantityError, parse

RULE: Final = Rule("", "nodes", ("list", "watch"))
PAGE: Final = 50
"""Nodes in one page. A node has about 15 KB, most of it images, addresses and managed fields."""

LARGE_PAGE: Final = 250
"""Nodes in one page of a command, which has memory for more and waits for each page."""

_VENDOR: Final = "nvidia.com/"
_EFFECTS: Final[Mapping[str, str]] = {"NoSchedule": "", "PreferNoSchedule": "", "NoExecute": ""}


class _Taint(Struct):
    key: str
    effect: str
    value: str = ""


class _NodeSpec(Struct, frozen=True):
    taints: list[_Taint] | None = None


class _Status(Struct, frozen=True):
    capacity: dict[str, str] | None = None
    allocatable: dict[str, str] | None = None


class _Node(Struct):
    metadata: LabelledMetadata
    spec: _NodeSpec = _NodeSpec()
    status: _Status = _Status()


_NODES: Final = msgspec.json.Decoder(_Node)


def parser(decisive: Decisive) -> Callable[[Raw], tuple[str, Node | None]]:
    """Return what reads a node; None for one without a decisive resource, or one whose name begins with `nvidia.com/`.

    The device plugin names no other resources (NVIDIA/k8s-device-plugin api/config/v1/resources.go). Raises
    msgspec.MsgspecError.
    """
    wanted, pool = decisive.resources, Pool()

    def node(found: Raw) -> tuple[str, Node | None]:
        one = _NODES.decode(found)
        name, offered = one.metadata.name, _names(one.status, wanted)
        if not offered:
            return name, None
        units = one.status.allocatable or {}
        listed = (each for each in one.spec.taints or () if each.effect in _EFFECTS)
        taints = tuple(Taint(each.key, each.effect, each.value) for each in listed)  # type: ignore[arg-type]
        kept = bounded(Node(name, one.metadata.labels or {}, taints, dict.fromkeys(offered, 0)), decisive)
        return name, replace(
            kept,
            labels={pool.shared(key): pool.shared(value) for key, value in kept.labels.items()},
            taints=tuple(_pooled(each, pool) for each in sorted(kept.taints, key=taint_order)),
            resources={pool.shared(resource): _whole(units.get(resource, "0")) for resource in sorted(kept.resources)},
        )

    return node


def problem(node: Node, part: NodePart) -> str:
    """What the bounds leave out of a node, for a log line. The same for as long as it has too many."""
    return f"node {printable(node.name)}: has more than the {MOST[part]} {part} that are kept; the others are unknown"


def _names(status: _Status, wanted: frozenset[str]) -> set[str]:
    """The names of the GPU resources of a node.

    When the device plugin goes, the kubelet keeps the capacity for five minutes and sets the allocatable to 0, and then
    reports 0 for both (kubernetes pkg/kubelet/cm/devicemanager/manager.go `GetCapacity`). So a name stays with 0: the
    node may offer the resource again.
    """
    listed = (status.capacity or {}).keys() | (status.allocatable or {}).keys()
    return {name for name in listed if name in wanted or name.startswith(_VENDOR)}


def _whole(quantity: str) -> int:
    """Whole units of a quantity; 0 for one that is none, which no kubelet reports."""
    try:
        return max(0, parse(quantity)) // NANO
    except QuantityError:
        return 0


def _pooled(taint: Taint, pool: Pool) -> Taint:
    return Taint(pool.shared(taint.key), taint.effect, pool.shared(taint.value))
