"""Memory per replica on the known nodes, by resource, and the node affinity that requires a size.

GPU feature discovery labels a node with the memory of one whole card in MiB, also where the card is shared
(NVIDIA/k8s-device-plugin#535), and with the replicas per card. The device plugin gives each replica an equal part,
rounded down to whole MiB.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from webhook.policy.placement.node_classes import CARD_MEMORY, REPLICAS
from webhook.policy.placement.node_index import NodeIndex
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.selector import Conjunction, Constraint, Expression, integer
from webhook.policy.settings.settings import Resource

MOST_KINDS = 256
"""Kinds of nodes, by these two labels, that are kept for a resource. Real clusters have a handful."""


class CardLabels(NamedTuple):
    """The two labels as a node spells them; None for one that it lacks."""

    memory: str | None
    replicas: str | None

    @property
    def mebibytes(self) -> int:
        """The memory of one card, in MiB; 0 if the label does not say."""
        return (self.memory is not None and integer(self.memory)) or 0

    @property
    def replicas_per_card(self) -> int | None:
        """The replicas of one card; None if the label is not a number. Cards that are not shared have 1."""
        number = integer(self.replicas) if self.replicas is not None else 1
        return None if number is None or number < 0 else max(number, 1)

    @property
    def counts_replicas(self) -> bool:
        """Whether the label is a number from 1 up. A node that shares its cards without it does not say how often."""
        return self.replicas is not None and self.replicas_per_card == integer(self.replicas)

    @property
    def share(self) -> int | None:
        """The memory of one replica in MiB; None if the labels do not say. Unified memory is labelled as 0."""
        replicas = self.replicas_per_card
        return max(self.mebibytes, 0) // replicas or None if replicas is not None else None

    def meets(self, term: Mapping[str, Constraint]) -> bool:
        """Whether a node with these labels meets what a term requires of them."""
        return all(
            key not in term or term[key].holds(value)
            for key, value in ((CARD_MEMORY, self.memory), (REPLICAS, self.replicas))
        )


class NodeKind(NamedTuple):
    """The nodes that name a resource and have the same two labels. `share` is as in CardLabels.

    `share` is None also for nodes that share their cards and do not say how often.
    """

    labels: CardLabels
    share: int | None
    nodes: Nodes


class ResourceShares:
    """The kinds of nodes that name one resource, even those whose device plugin is not running.

    `is_complete` is False where there are more kinds than are kept: then `kinds` lacks some, or all.
    """

    __slots__ = ("is_complete", "kinds")

    def __init__(self, kinds: Iterable[NodeKind], *, is_complete: bool = True) -> None:
        self.kinds = tuple(kinds)
        self.is_complete = is_complete

    @classmethod
    def of(cls, index: NodeIndex, resource: str) -> ResourceShares:
        having = index.offering(resource, 1) | index.unready(resource)
        # Nodes with more values of one label have more kinds, too; all pairs of these values would take long.
        if any(len(list(index.by_value(key, having))) > MOST_KINDS for key in (CARD_MEMORY, REPLICAS)):
            return cls((), is_complete=False)
        kinds = list(islice(_kinds(index, resource, having), MOST_KINDS + 1))
        return cls(kinds[:MOST_KINDS], is_complete=len(kinds) <= MOST_KINDS)

    def among(self, nodes: Nodes) -> ResourceShares:
        """The kinds of which at least one of these nodes is."""
        return ResourceShares((kind for kind in self.kinds if kind.nodes & nodes), is_complete=self.is_complete)

    def of_size(self, mebibytes: int) -> SizedKinds:
        """The kinds by whether a replica has this much memory."""
        unfitting = {kind.labels for kind in self.kinds if kind.share is None or kind.share < mebibytes}
        return SizedKinds(mebibytes, {kind.labels for kind in self.kinds} - unfitting, unfitting)


class SizedKinds(NamedTuple):
    """The labels of nodes whose replicas have at least `mebibytes`, and those of all other known nodes."""

    mebibytes: int
    fitting: Collection[CardLabels]
    unfitting: Collection[CardLabels]

    def is_required_by(self, term: Mapping[str, Constraint]) -> bool:
        """Whether a term requires the size already: it names one of the labels and admits no kind that is too small."""
        return (CARD_MEMORY in term or REPLICAS in term) and not any(labels.meets(term) for labels in self.unfitting)

    def conjunctions(self, most: int) -> Sequence[Conjunction] | None:
        """Sets of expressions, at most `most`: a node that fits meets one of them, and no other known node does.

        Preferred are sets that also hold for combinations of the labels' values that no known node has. Where these
        are too many, one set may do that merely separates the known nodes. None if there is no such choice.
        """
        exact = self._exact(most)
        if len(exact) <= most:
            return exact
        return [_expressions(self.fitting)] if most and self._one_suffices() else None

    def _exact(self, most: int) -> list[Conjunction]:
        """As few sets as possible, or the first ones of more than `most`.

        A card that is large enough for many replicas is large enough for fewer. So the kind with the most replicas
        decides the memory of its set, and all kinds with this memory belong to it. Kinds that do not count replicas
        may be whole cards or unknown shares, so each spelling of their label has a set.
        """
        found: list[Conjunction] = []
        left = sorted(
            (labels for labels in self.fitting if labels.counts_replicas),
            key=lambda labels: labels.replicas_per_card or 0,
        )
        while left and len(found) <= most:
            needed = self.mebibytes * (left[-1].replicas_per_card or 0)
            found.append(_expressions(labels for labels in left if labels.mebibytes >= needed))
            left = [labels for labels in left if labels.mebibytes < needed]
        uncounted = [labels for labels in self.fitting if not labels.counts_replicas]
        spellings = sorted({labels.replicas for labels in uncounted}, key=lambda replicas: replicas or "")
        found += [_expressions(one for one in uncounted if one.replicas == spelling) for spelling in spellings]
        return found

    def _one_suffices(self) -> bool:
        memory = {labels.memory for labels in self.fitting}
        replicas = {labels.replicas for labels in self.fitting}
        return None not in replicas and not any(
            labels.memory in memory and labels.replicas in replicas for labels in self.unfitting
        )


def _expressions(kinds: Iterable[CardLabels]) -> list[Expression]:
    """The expressions for kinds that all have the label of the replicas, or all lack it."""
    memory, replicas = zip(*kinds, strict=True)
    return [_values(CARD_MEMORY, memory), _values(REPLICAS, replicas)]


def _values(key: str, values: Sequence[str | None]) -> Expression:
    present = {value for value in values if value is not None}
    if not present:
        return {"key": key, "operator": "DoesNotExist"}
    return {"key": key, "operator": "In", "values": sorted(present, key=lambda value: (integer(value) or 0, value))}


class MemoryShares:
    """The shares of several resources."""

    __slots__ = ("_resources",)

    def __init__(self, index: NodeIndex, resources: Iterable[Resource]) -> None:
        self._resources = {each.name: ResourceShares.of(index, each.name) for each in resources}

    def of(self, resource: str) -> ResourceShares:
        return self._resources.get(resource, _NONE)


_NONE = ResourceShares(())


def _kinds(index: NodeIndex, resource: str, having: Nodes) -> Iterator[NodeKind]:
    sharing = index.mps(resource) | index.time_sliced(resource)
    for memory, with_memory in index.by_value(CARD_MEMORY, having):
        for replicas, nodes in index.by_value(REPLICAS, with_memory):
            labels = CardLabels(memory or None, replicas or None)
            uncounted = 0 if labels.counts_replicas else nodes & sharing
            if uncounted:
                yield NodeKind(labels, None, uncounted)
            if nodes & ~uncounted:
                yield NodeKind(labels, labels.share, nodes & ~uncounted)
