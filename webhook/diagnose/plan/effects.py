"""What a change does to all that lives in a cluster: resources of nodes, pods that no longer fit, and verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from webhook.cluster.reading import FINISHED, Object, entries, word
from webhook.diagnose.audit.census import Audited
from webhook.diagnose.audit.outcome import Outcome
from webhook.diagnose.pods import Holding, LivePod, live_pod
from webhook.diagnose.sharing import Offer, offers
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.client_limits import ANNOTATIONS, MemoryLimit, memory
from webhook.policy.pods.pod import MEMORY
from webhook.policy.pods.requests import Lookup
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Decision, Finding, Path, Severity

# Nodes.


class NodeChange(NamedTuple):
    """A resource of a node before and after the change; None where the node does not offer it."""

    node: str
    resource: str
    before: Offer | None
    after: Offer | None
    held: int


def node_changes(
    settings: Settings, before: Facts, after: Facts, held: Mapping[tuple[str, str], int]
) -> Iterator[NodeChange]:
    """The resources of nodes that change, in the order of nodes."""
    old = {(one.node, one.resource): one for one in offers(settings, before)}
    new = {(one.node, one.resource): one for one in offers(settings, after)}
    for key in sorted(old.keys() | new.keys()):
        was, becomes = old.get(key), new.get(key)
        if was != becomes and (total(was) or total(becomes)):
            yield NodeChange(*key, was, becomes, held.get(key, 0))


def total(offer: Offer | None) -> int:
    """How much of a resource a node offers."""
    return 0 if offer is None else offer.total


class Capacity(NamedTuple):
    """A resource of the whole cluster: what all unfinished pods ask for, and what nodes offer before and after."""

    resource: str
    asked: int
    before: int
    after: int

    @property
    def is_short(self) -> bool:
        """Whether the pods no longer fit, although they did."""
        return self.after < self.asked <= self.before


def capacities(changes: Sequence[NodeChange], offered: Iterable[Offer], pods: Iterable[LivePod]) -> Iterator[Capacity]:
    """The resources of which the cluster offers more or less. `offered` is what nodes offer before."""
    asked: Counter[str] = Counter()
    for pod in pods:
        asked.update(pod.requests)
    before: Counter[str] = Counter()
    for offer in offered:
        before[offer.resource] += offer.total
    more: Counter[str] = Counter()
    for change in changes:
        more[change.resource] += total(change.after) - total(change.before)
    for resource, difference in sorted(more.items()):
        if difference:
            yield Capacity(resource, asked[resource], before[resource], before[resource] + difference)


# Pods.


class GpuPods:
    """The pods that ask for GPUs and are not finished, and the MiB of a replica that some count on by own limits."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self.pods: list[LivePod] = []
        self.limits: dict[tuple[str, str], int] = {}

    def add(self, found: Object) -> None:
        """Add a pod if it is one of those."""
        pod = live_pod(found, self._lookup)
        if pod.requests and pod.phase not in FINISHED:
            self.pods.append(pod)
            if limit := max((one.mebibytes for one in _limits(found)), default=0):
                self.limits[pod.namespace, pod.name] = limit


def _limits(found: Object) -> Iterator[MemoryLimit]:
    """The limits of a pod's memory: of its annotation, and of the variables of its containers."""
    written = next(one for one in ANNOTATIONS if one.variable == MEMORY)
    with suppress(ValueError):  # a value that is not well-formed sets no limit
        yield from memory(written.write(word(found, "metadata", "annotations", written.key)))
    for container in (*entries(found, "spec", "initContainers"), *entries(found, "spec", "containers")):
        for one in entries(container, "env"):
            with suppress(ValueError):
                yield from memory(word(one, "value")) if one.get("name") == MEMORY else ()


class Unfit(NamedTuple):
    """Pods of a node that no longer fit there: more replicas are held than it offers, or a pod counts on more memory.

    `wanted` and `left` are replicas, or MiB of a replica where `is_memory`.
    """

    node: str
    resource: str
    wanted: int
    left: int
    is_memory: bool
    pods: tuple[LivePod, ...]


def unfit(
    changes: Iterable[NodeChange],
    held: Mapping[tuple[str, str], Sequence[Holding]],
    limits: Mapping[tuple[str, str], int],
) -> Iterator[Unfit]:
    """The pods that no longer fit, node by node. `limits` holds the memory that pods count on."""
    for change in changes:
        pods = [one.pod for one in held.get((change.node, change.resource), ())]
        becomes = total(change.after)
        if change.held > becomes and becomes < total(change.before):
            yield Unfit(change.node, change.resource, change.held, becomes, False, tuple(pods))
        share = None if change.after is None else change.after.share
        before = None if change.before is None else change.before.share
        if share is None or before is None:
            continue
        sizes = defaultdict(list)
        for pod in pods:
            limit = limits.get((pod.namespace, pod.name), 0)
            if share < limit <= before:  # a pod that counted on more did so in vain before, too
                sizes[limit].append(pod)
        for size, those in sorted(sizes.items()):
            yield Unfit(change.node, change.resource, size, share, True, tuple(those))


# Verdicts.


class Turn(Enum):
    """How the verdict about an object changes. The value is the word of reports, the most important first."""

    DENIED = "newly denied"
    WORSE = "new findings"
    BETTER = "findings gone"
    ADMITTED = "no longer denied"

    @property
    def is_worse(self) -> bool:
        return self in (Turn.DENIED, Turn.WORSE)


class VerdictChange(NamedTuple):
    """An object whose verdict changes, with the findings that come and go."""

    turn: Turn
    row: Audited
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]


def verdict_changes(rows: Iterable[Audited]) -> Iterator[VerdictChange]:
    """The objects whose outcome in the second world differs from that in the first, the worst changes first."""
    found = [one for row in rows if (one := _change(row)) is not None]
    turns = list(Turn)
    yield from sorted(found, key=lambda one: (turns.index(one.turn), one.row.where, one.row.by_pod))


def _change(row: Audited) -> VerdictChange | None:
    """The change of one object. Findings of the severity `audit`, which users do not see, change nothing."""
    before, after = row.outcomes
    was, becomes = _seen(before), _seen(after)
    new = tuple(one for key, one in becomes.items() if key not in was)
    gone = tuple(one for key, one in was.items() if key not in becomes)
    denied = [one.decision is Decision.DENIED for one in row.outcomes]
    if denied[0] is not denied[1]:
        turn = Turn.DENIED if denied[1] else Turn.ADMITTED
    elif new or (after.problem and not before.problem):
        turn = Turn.WORSE
    elif gone:
        turn = Turn.BETTER
    else:
        return None
    return VerdictChange(turn, row, new, gone)


def _seen(outcome: Outcome) -> dict[tuple[str, Severity, Path], Finding]:
    return {(one.code, one.severity, one.path): one for one in outcome.findings if one.severity >= Severity.WARN}
