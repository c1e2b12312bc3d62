"""GPU nodes as facts, without the client that reads them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from heapq import nsmallest
from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import LabelledMetadata, Rule
from webhook.cluster.pool import Pool
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import Node, NodePart, Taint
from webhook.policy.placement.node_bounds import MOST, Decisive, bounded, taint_order
from webhook.policy.placement.node_classes import shows_gpus
from webhook.policy.pods.quantity import NANO, QuantityError, parse

RULE: Final = Rule("", "nodes", ("list", "watch"))
PAGE: Final = 50
"""Nodes in one page. A node has about 15 KB, most of it images, addresses and managed fields."""

LARGE_PAGE: Final = 250
"""Nodes in one page of a command, which has memory for more and waits for each page."""

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


MOST_OTHERS: Final = 256
"""Nodes without GPUs that a command keeps, which may be those that a pod's selectors admit."""


def parser(decisive: Decisive, *, others: bool = False) -> Callable[[Raw], tuple[str, Node | None]]:
    """Return what reads a node with its extended resources; None for one without a GPU, unless `others` count as well.

    Raises msgspec.MsgspecError.
    """
    wanted, pool, left = decisive.resources, Pool(), MOST_OTHERS if others else 0

    def node(found: Raw) -> tuple[str, Node | None]:
        nonlocal left
        one = _NODES.decode(found)
        name, offered, gpus = one.metadata.name, *_names(one.status, wanted)
        if not gpus:
            if not left and not (others and shows_gpus(one.metadata.labels or {})):
                return name, None
            left = max(0, left - 1)
        units = one.status.allocatable or {}
        listed = (each for each in one.spec.taints or () if each.effect in _EFFECTS)
        taints = tuple(Taint(each.key, each.effect, each.value) for each in listed)  # type: ignore[arg-type]
        kept = bounded(Node(name, one.metadata.labels or {}, taints, dict.fromkeys(offered, 0)), decisive)
        return name, replace(
            kept,
            labels={pool.shared(key): pool.shared(value) for key, value in kept.labels.items()},
            taints=tuple(_pooled(each, pool) for each in sorted(kept.taints, key=taint_order)),
            resources={pool.shared(resource): whole(units.get(resource, "0")) for resource in sorted(kept.resources)},
        )

    return node


def metadata_parser(decisive: Decisive) -> Callable[[Raw], tuple[str, Node]]:
    """Return what reads the metadata of a node that cannot be read. How such a node shares its cards is unknown."""

    def node(found: Raw) -> tuple[str, Node]:
        metadata = _NODES.decode(found).metadata
        kept = bounded(Node(metadata.name, metadata.labels or {}), decisive)
        incomplete: tuple[NodePart, ...] = ("taints", "resources")
        return metadata.name, replace(kept, incomplete=kept.incomplete + incomplete)

    return node


def is_unread(node: Node) -> bool:
    """Whether a node could not be read but for its metadata: of any other, at least one resource is known."""
    return "resources" in node.incomplete and not node.resources


def problem(node: Node, part: NodePart) -> str:
    """What is unknown of a node, for a log line. The same for as long as it is unknown."""
    if part != "labels" and is_unread(node):
        return f"node {printable(node.name)}: too large to be read; its taints and resources are unknown"
    return f"node {printable(node.name)}: has more than the {MOST[part]} {part} that are kept; the others are unknown"


def _names(status: _Status, wanted: frozenset[str]) -> tuple[list[str], bool]:
    """The names of the extended resources of a node, and whether GPUs are among them. Few others matter.

    When the device plugin goes, the kubelet keeps the capacity for five minutes and sets the allocatable to 0, and then
    reports 0 for both (kubernetes pkg/kubelet/cm/devicemanager/manager.go `GetCapacity`). So a name stays with 0: the
    node may offer the resource again.
    """
    listed = (status.capacity or {}).keys() | (status.allocatable or {}).keys()
    gpus = [name for name in listed if names_gpu(name, wanted)]
    others = nsmallest(_MOST_BESIDE, (name for name in listed.difference(gpus) if "/" in name))
    return [*gpus, *others], bool(gpus)


_MOST_BESIDE: Final = 16
"""Extended resources of a node beside GPUs that are kept: the first by name."""


def names_gpu(name: str, wanted: Container[str]) -> bool:
    """Whether a resource is a GPU: a wanted one, or one of `nvidia.com/`, since the device plugin names no other ones.

    NVIDIA/k8s-device-plugin api/config/v1/resources.go.
    """
    return name in wanted or name.startswith("nvidia.com/")


def whole(quantity: object) -> int:
    """Whole units of a quantity; 0 for one that is none, which no kubelet reports."""
    try:
        return max(0, parse(quantity)) // NANO
    except QuantityError:
        return 0


def _pooled(taint: Taint, pool: Pool) -> Taint:
    return Taint(pool.shared(taint.key), taint.effect, pool.shared(taint.value))
