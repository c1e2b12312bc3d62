"""Memory per replica on the known nodes.

GPU feature discovery labels a node with the memory of one whole card in MiB, also where the card is shared
(NVIDIA/k8s-device-plugin#535), and with the replicas per card. The device plugin gives each replica an equal part,
rounded down to whole MiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from webhook.policy.placement.node_classes import CARD_MEMORY, REPLICAS
from webhook.policy.placement.node_index import NodeBitset, NodeIndex
from webhook.policy.placement.selector import integer

MOST_KINDS = 256
"""Kinds of nodes, by these two labels, that are kept for a resource. Real clusters have a handful."""


class NodeKind(NamedTuple):
    """The nodes that name a resource, and have cards of one size with as many replicas; 0 where that is unknown."""

    nodes: NodeBitset
    mebibytes: int
    replicas: int


def card_memory(label: str | None) -> int:
    """The memory of one card in MiB, by its label; 0 if that does not say, or for unified memory."""
    return max(integer(label or "") or 0, 0)


def share(mebibytes: int, replicas: int) -> int | None:
    """The memory of one of the replicas of a card, in MiB; None if one of the two is unknown."""
    return mebibytes // replicas or None if replicas else None


def node_kinds(index: NodeIndex, resource: str) -> Sequence[NodeKind]:
    """The kinds of nodes that name a resource, even if their device plugin is not running; none beyond the bound."""
    having = index.offering(resource, 1) | index.unready(resource)
    # Nodes with more values of one label have more kinds, too; all pairs of these values would take long.
    if any(len(list(index.by_value(key, having))) > MOST_KINDS for key in (CARD_MEMORY, REPLICAS)):
        return ()
    kinds = list(islice(_kinds(index, having), MOST_KINDS + 1))
    return kinds if len(kinds) <= MOST_KINDS else ()


def _kinds(index: NodeIndex, having: NodeBitset) -> Iterator[NodeKind]:
    for memory, with_memory in index.by_value(CARD_MEMORY, having):
        for replicas, nodes in index.by_value(REPLICAS, with_memory):
            yield NodeKind(nodes, card_memory(memory), max(integer(replicas) or 0, 0))
