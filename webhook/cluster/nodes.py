"""GPU nodes as facts, without the client that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import IDENTIFIED, Identified
from webhook.policy.memo import memo
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import Node, NodePart, Taint
from webhook.policy.placement.node_bounds import MOST, Decisive, bounded, taint_order
from webhook.policy.placement.platforms import shows_gpus
from webhook.policy.pods.gpu_resources import names_gpu
from webhook.policy.pods.quantity import NANO, parse_or_zero

PAGE: Final = 50
"""Nodes in one page of a server. A command has memory for more, and waits for each page.

A node has about 15 KB, most of it images, addresses and managed fields.
"""

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@memo(20_000)
def shared(text: str) -> str:
    """An equal string, the same for equal texts, which many objects have in common."""
    return text


class _Taint(Struct):
    key: str
    effect: str
    value: str = ""


class _NodeSpec(Struct, frozen=True):
    taints: list[_Taint] | None = None


class _Status(Struct, frozen=True):
    capacity: dict[str, str] | None = None
    allocatable: dict[str, str] | None = None


class NodeObject(Identified):
    """A node as the API server sends it, in the fields that are read."""

    spec: _NodeSpec = _NodeSpec()
    status: _Status = _Status()

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints, without those of effects that Kubernetes does not know."""
        listed = (each for each in self.spec.taints or () if each.effect in _EFFECTS)
        return tuple(Taint(shared(each.key), each.effect, shared(each.value)) for each in listed)  # type: ignore[arg-type]


_NODES: Final = msgspec.json.Decoder(NodeObject)


MOST_OTHERS: Final = 256
"""Nodes without GPUs that a command keeps, which may be those that a pod's selectors admit."""


def of_objects(found: Iterable[object], decisive: Decisive, *, others: bool = False) -> Iterator[Node]:
    """Read nodes that are decoded already, without those that are malformed, as objects of files may be."""
    parse = parser(decisive, others=others, read=partial(msgspec.convert, type=NodeObject))
    for one in found:
        with suppress(msgspec.ValidationError):
            if (node := parse(one)[1]) is not None:
                yield node


def parser(
    decisive: Decisive, *, others: bool = False, read: Callable[[Any], NodeObject] = _NODES.decode
) -> Callable[[Any], tuple[str, Node | None]]:
    """Return what reads a node with its extended resources; None for one without a GPU, unless `others` count as well.

    Raises msgspec.MsgspecError.
    """
    wanted, left = decisive.resources, MOST_OTHERS if others else 0

    def node(found: Any) -> tuple[str, Node | None]:
        nonlocal left
        one = read(found)
        name, gpus, beside = one.metadata.name, *_names(one.status, wanted)
        if not gpus:
            if not left and not (others and shows_gpus(one.metadata.labels or {})):
                return name, None
            left = max(0, left - 1)
        units = one.status.allocatable or {}
        kept = bounded(Node(name, one.metadata.labels or {}, one.taints, dict.fromkeys([*gpus, *beside], 0)), decisive)
        return name, replace(
            kept,
            labels={shared(key): shared(value) for key, value in kept.labels.items()},
            taints=tuple(sorted(kept.taints, key=taint_order)),
            resources={shared(resource): whole(units.get(resource, "0")) for resource in sorted(kept.resources)},
        )

    return node


def metadata_parser(decisive: Decisive) -> Callable[[Raw], tuple[str, Node]]:
    """Return what reads the metadata of a node that cannot be read. How such a node shares its cards is unknown."""

    def node(found: Raw) -> tuple[str, Node]:
        metadata = IDENTIFIED.decode(found).metadata
        kept = bounded(Node(metadata.name, metadata.labels or {}), decisive)
        return metadata.name, replace(kept, incomplete=(*kept.incomplete, "taints", "resources"))

    return node


def is_unread(node: Node) -> bool:
    """Whether a node could not be read but for its metadata: of any other, at least one resource is known."""
    return "resources" in node.incomplete and not node.resources


def problem(node: Node, part: NodePart) -> str:
    """What is unknown of a node, for a log line. The same for as long as it is unknown."""
    if part != "labels" and is_unread(node):
        return f"node {printable(node.name)}: too large to be read; its taints and resources are unknown"
    return f"node {printable(node.name)}: has more than the {MOST[part]} {part} that are kept; the others are unknown"


def _names(status: _Status, wanted: frozenset[str]) -> tuple[list[str], list[str]]:
    """The names of the GPU resources of a node, and of other extended resources. Few others matter.

    When the device plugin goes, the kubelet keeps the capacity for five minutes and sets the allocatable to 0, and then
    reports 0 for both (kubernetes pkg/kubelet/cm/devicemanager/manager.go `GetCapacity`). So a name stays with 0: the
    node may offer the resource again.
    """
    listed = (status.capacity or {}).keys() | (status.allocatable or {}).keys()
    gpus = [name for name in listed if names_gpu(name, wanted)]
    others = nsmallest(_MOST_BESIDE, (name for name in listed.difference(gpus) if "/" in name))
    return gpus, others


_MOST_BESIDE: Final = 16
"""Extended resources of a node beside GPUs that are kept: the first by name."""


def whole(quantity: object) -> int:
    """Whole units of a quantity; 0 for one that is none, which no kubelet reports."""
    return max(0, parse_or_zero(quantity)) // NANO
