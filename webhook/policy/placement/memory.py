"""Memory per replica on the known nodes.

GPU feature discovery labels a node with the memory of one whole card in MiB, also where the card is shared
(NVIDIA/k8s-device-plugin#535), and with the replicas per card. The device plugin gives each replica an equal part,
rounded down to whole MiB. Where feature discovery has another configuration than the plugin, as from another chart, the
label and the plugin's configuration disagree: then the larger number of replicas counts. A node that offers even more
than its cards have replicas by that number shares them in a way that nothing shows, or has cards of several models, of
which feature discovery counts one (internal/lm/mig-strategy.go, `newGPULabelers`): then the memory is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from webhook.policy.placement.node_classes import CARD_COUNT, CARD_MEMORY, REPLICAS
from webhook.policy.placement.node_index import NodeBitset, NodeIndex
from webhook.policy.placement.selector import integer
from webhook.policy.pods.quantity import NANO

MOST_KINDS = 256
"""Kinds of nodes, by these two labels, that are kept for a resource. Real clusters have a handful."""


class NodeKind(NamedTuple):
    """The nodes that name a resource, and have cards of one size with as many replicas; 0 where that is unknown.

    So it is for nodes whose label does not say how often they share their cards, or that offer more than they say.
    """

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
    if any(len(list(index.by_value(key, having))) > MOST_KINDS for key in (CARD_MEMORY, REPLICAS, CARD_COUNT)):
        return ()
    kinds = list(islice(_kinds(index, resource, having), MOST_KINDS + 1))
    return kinds if len(kinds) <= MOST_KINDS else ()


def _kinds(index: NodeIndex, resource: str, having: NodeBitset) -> Iterator[NodeKind]:
    configured = index.configured_replicas(resource)
    for memory, with_memory in index.by_value(CARD_MEMORY, having):
        mebibytes = card_memory(memory)
        for replicas, nodes in index.by_value(REPLICAS, with_memory):
            labelled = integer(replicas) or 0
            if labelled < 1:
                yield NodeKind(nodes, mebibytes, 0)
                continue
            for count, alike in _by_replicas(nodes, labelled, configured):
                surplus = 0  # the nodes that offer more than this many replicas of each card that their label counts
                for cards, with_cards in index.by_value(CARD_COUNT, alike):
                    if (number := integer(cards) or 0) > 0:
                        surplus |= with_cards & index.offering(resource, (number * count + 1) * NANO)
                if surplus:
                    yield NodeKind(surplus, mebibytes, 0)
                if alike & ~surplus:
                    yield NodeKind(alike & ~surplus, mebibytes, count)


def _by_replicas(
    nodes: NodeBitset, labelled: int, configured: Iterable[tuple[int, NodeBitset]]
) -> Iterator[tuple[int, NodeBitset]]:
    """The nodes by the larger number of replicas, of their label and of their configuration, where there are any."""
    for count, with_count in configured:
        if count > labelled and nodes & with_count:
            yield count, nodes & with_count
            nodes &= ~with_count
    if nodes:
        yield labelled, nodes
