"""The memory size that a pod asks for by annotation, and the node affinity that requires it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from webhook.policy.placement.memory_shares import MemoryShares, ResourceShares, SizedKinds
from webhook.policy.placement.node_classes import CARD_MEMORY, REPLICAS
from webhook.policy.placement.reachability import Placement
from webhook.policy.placement.selector import (
    Constraint,
    RequiredAffinity,
    Requirement,
    Term,
    characters,
    required_terms,
)
from webhook.policy.pods.client_limits import PREFIX
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO, QuantityError, parse

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


class Obstacle(Enum):
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
        return self in _REJECTING


_REJECTING = frozenset(
    {Obstacle.TOO_SMALL, Obstacle.TOO_SMALL_SELECTED, Obstacle.TOO_SMALL_BOUND, Obstacle.TOO_LARGE_AFFINITY}
)


class MemorySize(NamedTuple):
    """The size that a pod asks for, in MiB, of the first shared resource that it requests.

    `obstacle` says why no affinity requires it; `largest` is the largest share in MiB where a smaller one is the
    obstacle. `affinity` is None where there is an obstacle, or nothing to add.
    """

    mebibytes: int
    resource: str
    obstacle: Obstacle | None = None
    largest: int = 0
    affinity: RequiredAffinity | None = None


def memory_size(pod: Pod, placement: Placement, shares: MemoryShares, *, extends: bool) -> MemorySize | None:
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
    known = shares.of(resource)
    obstacle = _unknown(placement, resource, known)
    if obstacle is not None:
        return MemorySize(mebibytes, resource, obstacle)
    sized = known.of_size(mebibytes)
    obstacle, largest = _too_small(pod, placement, known, sized)
    if obstacle is not None or not extends or pod.text("nodeName"):
        return MemorySize(mebibytes, resource, obstacle, largest)
    return _placed(MemorySize(mebibytes, resource), pod, placement.requirement, sized)


def _unknown(placement: Placement, resource: str, known: ResourceShares) -> Obstacle | None:
    if not placement.cluster.known:
        return Obstacle.NODES_UNKNOWN
    if resource in placement.cluster.dynamic:
        return Obstacle.SHARE_UNKNOWN
    if not known.is_complete:
        return Obstacle.TOO_MANY_KINDS
    return None if known.kinds else Obstacle.NOT_OFFERED


def _too_small(pod: Pod, placement: Placement, known: ResourceShares, sized: SizedKinds) -> tuple[Obstacle | None, int]:
    """Whether no node that the pod selects is large enough, with the largest share among them.

    Where the pod selects no node that offers the resource, which GPS014 reports, all nodes count. Taints do not matter,
    because they may be temporary.
    """
    there, smaller = known.among(placement.selected), Obstacle.TOO_SMALL_SELECTED
    if pod.text("nodeName"):
        smaller = Obstacle.TOO_SMALL_BOUND
    if len(there.kinds) in (0, len(known.kinds)):
        there, smaller = known, Obstacle.TOO_SMALL
    if any(kind.labels in sized.fitting for kind in there.kinds):
        return None, 0
    shares = [kind.share for kind in there.kinds if kind.share is not None]
    if len(shares) < len(there.kinds) or max(shares) >= sized.mebibytes:
        return Obstacle.SHARE_UNKNOWN, 0
    return smaller, max(shares)


def _placed(asked: MemorySize, pod: Pod, required: Requirement | None, sized: SizedKinds) -> MemorySize:
    """The size with the affinity that requires it, in the terms that do not require it already."""
    too_large = MemorySize(asked.mebibytes, asked.resource, Obstacle.TOO_LARGE_AFFINITY)
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
    conjunctions = sized.conjunctions(room if characters(pod) <= MOST_COPIED else min(room, 1))
    if conjunctions is None:
        return too_large
    affinity = RequiredAffinity(pod, [conjunctions if is_open else [()] for is_open in open_terms])
    return MemorySize(asked.mebibytes, asked.resource, affinity=affinity)


def _about_cards(term: Term, selector: Mapping[str, str]) -> Term:
    """What a term and the node selector require of the two labels."""
    return {
        key: term.get(key) or _equal(selector[key]) for key in (CARD_MEMORY, REPLICAS) if key in term or key in selector
    }


def _equal(value: str) -> Constraint:
    constraint = Constraint()
    constraint.add("In", (value,))
    return constraint
