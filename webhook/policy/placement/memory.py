"""Memory per replica on the known nodes, and the node affinity that requires the size for which a pod asks.

GPU feature discovery labels a node with the memory of one whole card in MiB, also where the card is shared
(NVIDIA/k8s-device-plugin#535), and with the replicas per card. The device plugin gives each replica an equal part,
rounded down to whole MiB. Where feature discovery has another configuration than the plugin, as from another chart, the
label and the plugin's configuration disagree: then the larger number of replicas counts. A node that offers even more
than its cards have replicas by that number shares them in a way that nothing shows, or has cards of several models, of
which feature discovery counts one (internal/lm/mig-strategy.go, `newGPULabelers`): then the memory is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple

from webhook.policy.placement.node_classes import CARD_COUNT, CARD_MEMORY, REPLICAS
from webhook.policy.placement.node_index import NodeIndex
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.reachability import Placement
from webhook.policy.placement.selector import (
    Alternative,
    Constraint,
    Expression,
    RequiredAffinity,
    Requirement,
    Term,
    characters,
    integer,
    required_terms,
)
from webhook.policy.pods.client_limits import PREFIX
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO, QuantityError, parse

MOST_KINDS = 256
"""Kinds of nodes, by these two labels, that are kept for a resource. Real clusters have a handful."""

_COUNTED = (CARD_MEMORY, REPLICAS, CARD_COUNT)


class CardLabels(NamedTuple):
    """The labels for memory and replicas as a node spells them; None for a label that the node lacks."""

    memory: str | None
    replicas: str | None

    @property
    def mebibytes(self) -> int:
        """The memory of one card, in MiB; 0 if the label does not say."""
        return max(integer(self.memory or "") or 0, 0)

    @property
    def replicas_per_card(self) -> int:
        """The replicas of one card; 0 if the label is not a number. Cards that are not shared have 1."""
        number = integer(self.replicas) if self.replicas is not None else 1
        return 0 if number is None or number < 0 else max(number, 1)

    @property
    def counts_replicas(self) -> bool:
        """Whether the label is a number from 1 up. A node that shares its cards without it does not say how often."""
        return self.replicas is not None and self.replicas_per_card == integer(self.replicas)

    def share(self, configured: int = 0) -> int | None:
        """The memory of one replica in MiB; None if the labels do not say. Unified memory is labelled as 0.

        `configured`: the replicas by the plugin's configuration; 0 if they are unknown.
        """
        replicas = self.replicas_per_card
        return self.mebibytes // max(replicas, configured) or None if replicas else None

    def meets(self, term: Term) -> bool:
        """Whether a node with these labels meets what a term requires of them."""
        return all(
            key not in term or term[key].holds(value)
            for key, value in ((CARD_MEMORY, self.memory), (REPLICAS, self.replicas))
        )


class NodeKind(NamedTuple):
    """The nodes that name a resource and have the same two labels and share. `share` is as in CardLabels.

    `share` is None also for nodes that share their cards and do not say how often, or offer more than they say; their
    `replicas` are 0.
    """

    labels: CardLabels
    share: int | None
    nodes: Nodes
    replicas: int


class ResourceShares(NamedTuple):
    """The kinds of nodes that name one resource, even those whose device plugin is not running.

    `is_complete` is False where there are more kinds than are kept: then `kinds` lacks some, or all.
    """

    kinds: Sequence[NodeKind]
    is_complete: bool

    @classmethod
    def of(cls, index: NodeIndex, resource: str) -> ResourceShares:
        """The kinds of the nodes of an index that name a resource."""
        having = index.offering(resource, 1) | index.unready(resource)
        # Nodes with more values of one label have more kinds, too; all pairs of these values would take long.
        if any(len(list(index.by_value(key, having))) > MOST_KINDS for key in _COUNTED):
            return cls((), is_complete=False)
        kinds = list(islice(_kinds(index, resource, having), MOST_KINDS + 1))
        return cls(kinds[:MOST_KINDS], is_complete=len(kinds) <= MOST_KINDS)

    def among(self, nodes: Nodes) -> ResourceShares:
        """The kinds of which at least one of these nodes is."""
        return ResourceShares([kind for kind in self.kinds if kind.nodes & nodes], self.is_complete)

    def of_size(self, mebibytes: int) -> SizedKinds:
        """The kinds by whether a replica has this much memory."""
        unfitting = {kind.labels for kind in self.kinds if kind.share is None or kind.share < mebibytes}
        return SizedKinds(mebibytes, {kind.labels for kind in self.kinds} - unfitting, unfitting)


class SizedKinds(NamedTuple):
    """The labels of nodes whose replicas have at least `mebibytes`, and those of all other known nodes."""

    mebibytes: int
    fitting: Collection[CardLabels]
    unfitting: Collection[CardLabels]

    def is_required_by(self, term: Term) -> bool:
        """Whether a term requires the size already: it names one of the labels and admits no kind that is too small."""
        return (CARD_MEMORY in term or REPLICAS in term) and not any(labels.meets(term) for labels in self.unfitting)

    def alternatives(self, most: int) -> Sequence[Alternative] | None:
        """Sets of expressions, at most `most`: a node that fits meets one of them, and no other known node does.

        Preferred are sets that also hold for combinations of the labels' values that no known node has. Where these
        are too many, one set may do that merely separates the known nodes. None if there is no such choice.
        """
        exact = self._exact(most)
        if len(exact) <= most:
            return exact
        return [_expressions(self.fitting)] if most and self._one_suffices() else None

    def _exact(self, most: int) -> list[Alternative]:
        """As few sets as possible, or the first ones of more than `most`.

        A card that is large enough for many replicas is large enough for fewer. So the kind with the most replicas
        decides the memory of its set, and all kinds with this memory belong to it. Kinds that do not count replicas
        may be whole cards or unknown shares, so each spelling of their label has a set.
        """
        found: list[Alternative] = []
        counted = (labels for labels in self.fitting if labels.counts_replicas)
        left = sorted(counted, key=lambda labels: labels.replicas_per_card)
        while left and len(found) <= most:
            needed = self.mebibytes * left[-1].replicas_per_card
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
        return Expression(key, "DoesNotExist")
    return Expression(key, "In", sorted(present, key=lambda value: (integer(value) or 0, value)))


def _kinds(index: NodeIndex, resource: str, having: Nodes) -> Iterator[NodeKind]:
    sharing = index.sharing("mps", resource) | index.sharing("time-slicing", resource)
    configured = index.configured_replicas(resource)
    for memory, with_memory in index.by_value(CARD_MEMORY, having):
        for replicas, nodes in index.by_value(REPLICAS, with_memory):
            labels = CardLabels(memory or None, replicas or None)
            uncounted = 0 if labels.counts_replicas else nodes & sharing
            if uncounted:
                yield NodeKind(labels, None, uncounted, 0)
            for count, alike in _by_replicas(nodes & ~uncounted, labels.replicas_per_card, configured):
                surplus = _offering_more(index, resource, alike, count)
                if surplus:
                    yield NodeKind(labels, None, surplus, 0)
                if alike & ~surplus:
                    yield NodeKind(labels, labels.share(count), alike & ~surplus, count)


def _by_replicas(nodes: Nodes, labelled: int, configured: Iterable[tuple[int, Nodes]]) -> Iterator[tuple[int, Nodes]]:
    """The nodes by the larger number of replicas, of their label and of their configuration, where there are any."""
    for count, with_count in configured:
        if count > labelled and nodes & with_count:
            yield count, nodes & with_count
            nodes &= ~with_count
    if nodes:
        yield labelled, nodes


def _offering_more(index: NodeIndex, resource: str, nodes: Nodes, replicas: int) -> Nodes:
    """The nodes that offer more of a resource than this many replicas of each card that their label counts."""
    offering = 0
    for label, with_label in index.by_value(CARD_COUNT, nodes):
        cards = integer(label) or 0
        if cards > 0:
            offering |= with_label & index.offering(resource, (cards * replicas + 1) * NANO)
    return offering


ANNOTATION = PREFIX + "memory"

MOST_TERMS = 16
"""Terms that the required affinity of a pod may have after the injection."""

MOST_COPIED = 8192
"""Characters of an affinity whose terms may be copied: a patch must not be many times as long as the pod."""

_MEBIBYTE = 2**20
_MOST = 512 * _MEBIBYTE  # MiB; the variable of the pinned limit takes nine digits


def mebibytes_of(value: object) -> int:
    """The size in MiB, rounded up, from the annotation. Raises ValueError with a description of valid values.

    A quantity may end in a line separator, as Go trims it; an annotation may not.
    """
    try:
        billionths = parse(value) if isinstance(value, str) and value.isprintable() else 0
    except QuantityError:
        billionths = 0
    mebibytes = -(-billionths // (NANO * _MEBIBYTE))
    if not 0 < mebibytes <= _MOST:
        raise ValueError("a memory size such as 6Gi, above 0 and up to 512Ti")
    return mebibytes


def written(mebibytes: int) -> str:
    """A size as a quantity for users, such as `6Gi` or `3840Mi`."""
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"


class MemoryObstacle(Enum):
    """Why no node affinity requires the size. The value is the reason for users."""

    NODES_UNKNOWN = "the cluster's nodes are unknown"
    NOT_OFFERED = "no known node offers the resource"
    TOO_MANY_KINDS = "the nodes have too many combinations of memory and replicas"
    SHARE_UNKNOWN = "the memory of a replica on its nodes is unknown"
    TOO_SMALL = "no node has as much memory per replica"
    TOO_SMALL_SELECTED = "no node that the pod selects has as much memory per replica"
    TOO_SMALL_BOUND = "the node of the pod has less memory per replica"
    TOO_LARGE_AFFINITY = "the node affinity would have more than 16 terms, or copies of long ones"

    @property
    def rejects(self) -> bool:
        """Whether the pod cannot get what it asks for. Missing knowledge never rejects a pod."""
        return self in (
            MemoryObstacle.TOO_SMALL,
            MemoryObstacle.TOO_SMALL_SELECTED,
            MemoryObstacle.TOO_SMALL_BOUND,
            MemoryObstacle.TOO_LARGE_AFFINITY,
        )


class MemorySize(NamedTuple):
    """The size that a pod asks for, in MiB, of the first shared resource that it requests.

    `obstacle` says why no affinity requires it; `largest` is the largest share in MiB where that is too small, also
    among some nodes while others are unknown. `affinity` is None where there is an obstacle, or nothing to add.
    """

    mebibytes: int
    resource: str
    obstacle: MemoryObstacle | None = None
    largest: int = 0
    affinity: RequiredAffinity | None = None


def memory_size(
    pod: Pod, placement: Placement, shares: Mapping[str, ResourceShares], *, extends: bool
) -> MemorySize | None:
    """The size that a pod asks for; None without a well-formed annotation, or without a shared resource.

    With `extends`, its affinity may be extended. A pod with `nodeName` never gets an affinity: its kubelet would
    reject it.
    """
    try:
        mebibytes = mebibytes_of(pod.annotations.get(ANNOTATION))
    except ValueError:
        return None
    requests = placement.requests.positive
    resource = next((one.resource.name for one in requests if one.resource.kind == "shared"), None)
    if resource is None:
        return None
    asked, known = MemorySize(mebibytes, resource), shares[resource]
    obstacle, sized = _unknown(placement, resource, known), known.of_size(mebibytes)
    if obstacle is MemoryObstacle.NODES_UNKNOWN and known.kinds and known.is_complete:
        # Some nodes may be declared, or shown by objects.
        return asked._replace(obstacle=obstacle, largest=_too_small(pod, placement, known, sized)[1])
    if obstacle is not None:
        return asked._replace(obstacle=obstacle)
    obstacle, largest = _too_small(pod, placement, known, sized)
    if obstacle is not None or not extends or pod.text("nodeName"):
        return asked._replace(obstacle=obstacle, largest=largest)
    return _placed(asked, pod, placement.requirement, sized)


def _unknown(placement: Placement, resource: str, known: ResourceShares) -> MemoryObstacle | None:
    if not placement.cluster.known:
        return MemoryObstacle.NODES_UNKNOWN
    if resource in placement.cluster.dynamic:
        return MemoryObstacle.SHARE_UNKNOWN
    if not known.is_complete:
        return MemoryObstacle.TOO_MANY_KINDS
    return None if known.kinds else MemoryObstacle.NOT_OFFERED


def _too_small(
    pod: Pod, placement: Placement, known: ResourceShares, sized: SizedKinds
) -> tuple[MemoryObstacle | None, int]:
    """Whether no node that the pod selects is large enough, with the largest share among them.

    Where the pod selects no node that offers the resource, which GPS014 reports, all nodes count. Taints do not matter,
    because they may be temporary.
    """
    there, smaller = known.among(placement.selected), MemoryObstacle.TOO_SMALL_SELECTED
    if pod.text("nodeName"):
        smaller = MemoryObstacle.TOO_SMALL_BOUND
    if len(there.kinds) in (0, len(known.kinds)):
        there, smaller = known, MemoryObstacle.TOO_SMALL
    if any(kind.labels in sized.fitting for kind in there.kinds):
        return None, 0
    shares = [kind.share for kind in there.kinds if kind.share is not None]
    if len(shares) < len(there.kinds) or max(shares) >= sized.mebibytes:
        return MemoryObstacle.SHARE_UNKNOWN, 0
    return smaller, max(shares)


def _placed(asked: MemorySize, pod: Pod, required: Requirement | None, sized: SizedKinds) -> MemorySize:
    """The size with the affinity that requires it, in the terms that do not require it already."""
    too_large = asked._replace(obstacle=MemoryObstacle.TOO_LARGE_AFFINITY)
    if required is not None and required.is_partial:
        return too_large
    selector = {} if required is None else required.selector
    terms: Sequence[Term] = ({},) if required is None or not required_terms(pod) else required.terms or ()
    if len(terms) > MOST_TERMS:
        return too_large
    open_terms = [not sized.is_required_by(_about_cards(term, selector)) for term in terms]
    if not any(open_terms):
        return asked
    room = (MOST_TERMS - open_terms.count(False)) // open_terms.count(True)
    alternatives = sized.alternatives(room if characters(pod) <= MOST_COPIED else min(room, 1))
    if alternatives is None:
        return too_large
    return asked._replace(affinity=RequiredAffinity(pod, [alternatives if is_open else [()] for is_open in open_terms]))


def _about_cards(term: Term, selector: Mapping[str, str]) -> Term:
    """The constraints of a term and the node selector on the two labels."""
    return {
        key: term.get(key) or Constraint((selector[key],), absent=False)
        for key in (CARD_MEMORY, REPLICAS)
        if key in term or key in selector
    }
