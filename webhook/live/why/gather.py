"""Gathers what a question needs, and no more: each state of a pod makes other parts of a cluster matter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from webhook.cluster import nodes
from webhook.cluster.objects import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    Kind,
    ObjectsWithLogs,
)
from webhook.live.pods import controller, held_by_node, reachable_pods
from webhook.live.why.case import Around, Case, Held, Log, Neighbour, amounts, contexts_of
from webhook.live.why.cause import Reference
from webhook.live.why.event import Event, events_of, newest
from webhook.live.why.pod_state import (
    containers,
    is_finished,
    is_unscheduled,
    is_well,
    node_name,
    was_looked_at,
)
from webhook.live.why.reading import Object, entries, part, word
from webhook.live.why.workload import has_all
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.settings import Settings

More = Callable[[Collection[str]], Awaitable[Facts]]
"""Reads parts of the facts, by their keys in the facts file."""

KINDS: Final[Mapping[str, Kind]] = {
    "Pod": POD,
    "Deployment": DEPLOYMENT,
    "ReplicaSet": REPLICA_SET,
    "StatefulSet": STATEFUL_SET,
    "DaemonSet": DAEMON_SET,
    "Job": JOB,
    "CronJob": CRON_JOB,
}
"""The kinds of which a question may be."""

_MADE_BY: Final = {"Deployment": "ReplicaSet", "CronJob": "Job"}
"""The kind of the objects between a workload and its pods."""

_FEW: Final = 8
"""Nodes whose pods are read one node at a time, for which the API server has an index."""

_UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"


class Question:
    """A question about one object. `wants_log`: the log of the container that fails matters."""

    def __init__(self, objects: ObjectsWithLogs, settings: Settings, more: More, *, wants_log: bool = False) -> None:
        self._objects = objects
        self._settings = settings
        self._more = more
        self._wants_log = wants_log

    async def case(self, kind: str, namespace: str, found: Object) -> Case:
        """Gather what an object's state makes necessary."""
        of = Reference(kind, word(found, "metadata", "namespace") or namespace, word(found, "metadata", "name"))
        if kind == "Pod":
            pod: Object | None = found
            makers = await self._controllers(of.namespace, found)
        else:
            makers, pod = await self._made_by(kind, of.namespace, found)
        events = [] if pod is None else await events_of(self._objects, pod, "Pod")
        of_makers: list[Event] = []
        for name, maker in makers if kind != "Pod" else ():
            of_makers += await events_of(self._objects, maker, name)
        around = Around() if pod is None else await self._around(of.namespace, pod)
        return Case(of, found, self._settings, pod, makers, events, newest(of_makers), around)

    async def _controllers(self, namespace: str, pod: Object) -> list[tuple[str, Object]]:
        """The objects that control a pod, the topmost first, as far as their kinds are known."""
        makers: list[tuple[str, Object]] = []
        below = pod
        while (owner := controller(part(below, "metadata"))) is not None and owner.kind in KINDS and len(makers) < 2:
            found = await self._objects.one(KINDS[owner.kind], namespace, owner.name)
            below = found or {}
            makers.insert(0, (owner.kind, found or {"metadata": {"name": owner.name, "namespace": namespace}}))
        return makers

    async def _made_by(
        self, kind: str, namespace: str, found: Object
    ) -> tuple[list[tuple[str, Object]], Object | None]:
        """The makers of a workload's pods, and the pod that shows most."""
        makers, names = [(kind, found)], {word(found, "metadata", "name")}
        below = _MADE_BY.get(kind)
        if below is not None:
            between = await self._between(KINDS[below], namespace, found, kind)
            makers += [(below, one) for one in between[:1]]
            names = {word(one, "metadata", "name") for one in between}
        last_kind, last = makers[-1]
        if below is not None and last_kind != below:
            return makers, None
        query = _selector(last if kind == "CronJob" else found)
        best = _Best()
        async for page in self._objects.pages(POD, namespace, query):
            for pod in page:
                owner = controller(part(pod, "metadata"))
                if owner is not None and owner.kind == last_kind and owner.name in names:
                    best.add(pod)
        return makers, best.of(kind, found)

    async def _between(self, kind: Kind, namespace: str, found: Object, above: str) -> list[Object]:
        """The objects that a workload makes, the newest first."""
        name = word(found, "metadata", "name")
        query = _selector(found) if above == "Deployment" else {}
        between: list[Object] = []
        async for page in self._objects.pages(kind, namespace, query):
            for one in page:
                owner = controller(part(one, "metadata"))
                if owner is not None and (owner.kind, owner.name) == (above, name):
                    between.append({key: one[key] for key in ("metadata", "spec", "status") if key in one})
        return sorted(between, key=_age, reverse=True)

    async def _around(self, namespace: str, pod: Object) -> Around:
        if is_unscheduled(pod):
            return await self._around_unscheduled(namespace, pod) if _waits_for_node(pod) else Around()
        log = await self._log(namespace, pod) if self._wants_log else None
        if not node_name(pod) or is_finished(pod):
            return Around(log=log)
        return await self._around_bound(pod, log)

    async def _around_unscheduled(self, namespace: str, pod: Object) -> Around:
        if not any(amounts(pod)):
            return Around()
        facts = await self._more(("nodes", "deviceClasses"))
        if facts.nodes is None:
            return Around(facts=facts)
        (context,) = contexts_of([pod], self._settings, facts)
        if context is None or not context.requests.positive:
            return Around(facts=facts, context=context)
        placement = context.placement
        candidates = [one.name for one in placement.cluster.index.nodes(placement.candidates)]
        return Around(facts=facts, context=context, held=await self._held(namespace, candidates))

    async def _held(self, namespace: str, candidates: Sequence[str]) -> Held:
        """Who holds replicas of the nodes that could take a pod."""
        few = 0 < len(candidates) <= _FEW
        queries = [f"spec.nodeName={name}" for name in candidates] if few else ["spec.nodeName!="] if candidates else []
        pods = []
        for one in queries:
            query = {"fieldSelector": f"{one},{_UNFINISHED}"}
            pods += await reachable_pods(self._objects, self._settings, namespace, query)
        return Held(held_by_node(pods), is_complete=self._objects.is_live and not self._objects.lacks(POD))

    async def _around_bound(self, pod: Object, log: Log | None) -> Around:
        name = node_name(pod)
        node = await self._objects.one(NODE, None, name)
        is_gone = node is None and not self._objects.hides(NODE, None, name)
        asks = any(amounts(pod))
        known = self._known(node) if node is not None else None
        if node is None and not is_gone and asks:
            every = (await self._more(("nodes",))).nodes
            known = next((one for one in every or () if one.name == name), None)
        facts = Facts(nodes=(known,)) if known is not None else Facts()
        neighbours = await self._neighbours(name) if asks and any(containers(pod)) else None
        asking = [one for one in neighbours or () if any(amounts(one))]
        context, *others = contexts_of([pod, *asking], self._settings, facts)
        of_pods = {id(one): found for one, found in zip(asking, others, strict=True)}
        beside = None if neighbours is None else [Neighbour(one, of_pods.get(id(one))) for one in neighbours]
        return Around(facts, context, None, node, known, is_gone, beside, log)

    def _known(self, node: Object) -> Node | None:
        """The node as facts hold it; None for one without GPUs, or that is malformed."""
        try:
            return nodes.parser(Decisive.of(self._settings))(Raw(msgspec.json.encode(node)))[1]
        except (msgspec.MsgspecError, ValueError, TypeError):
            return None

    async def _neighbours(self, node: str) -> list[Object] | None:
        """The pods of a node, without those that have ended; None if they cannot be read."""
        query = {"fieldSelector": f"spec.nodeName={node},{_UNFINISHED}"}
        found = []
        async for page in self._objects.pages(POD, None, query):
            found += [one for one in page if node_name(one) == node and not is_finished(one)]
        return found if self._objects.is_live and not self._objects.lacks(POD) else None

    async def _log(self, namespace: str, pod: Object) -> Log | None:
        """The log of the container that failed, else of the first that asks for an extended resource."""
        states = list(containers(pod))
        failed = next((one for one in states if one.failure), None)
        asking = {name for name, _, _ in amounts(pod)}
        chosen = failed or next((one for one in states if one.name in asking), states[0] if states else None)
        if chosen is None:
            return None
        previous = bool(failed and not failed.ended and failed.ended_before)
        text = await self._objects.log(namespace, word(pod, "metadata", "name"), chosen.name, previous=previous)
        return None if text is None else Log(chosen.name, text)


def _waits_for_node(pod: Object) -> bool:
    return not entries(pod, "spec", "schedulingGates")


def _selector(found: Object) -> dict[str, str]:
    """The label selector of a workload, for a list; empty where it has none."""
    labels = part(found, "spec", "selector", "matchLabels")
    pairs = [f"{key}={value}" for key, value in labels.items() if isinstance(value, str)]
    return {"labelSelector": ",".join(pairs)} if pairs else {}


def _age(one: Object) -> tuple[int, str]:
    """Sorts objects by age: ReplicaSets by the revision that the Deployment gives them."""
    revision = word(one, "metadata", "annotations", "deployment.kubernetes.io/revision")
    is_number = revision.isdecimal() and len(revision) < _DIGITS
    return int(revision) if is_number else 0, word(one, "metadata", "creationTimestamp")


_DIGITS: Final = 10


class _Best:
    """The pod of a workload that shows most of what is wrong, and one that is well."""

    def __init__(self) -> None:
        self._wrong: tuple[tuple[int, str], Object] | None = None
        self._well: Object | None = None

    def add(self, pod: Object) -> None:
        """Take a pod into account."""
        if is_well(pod):
            self._well = pod
            return
        rank = _rank(pod), word(pod, "metadata", "creationTimestamp")
        if self._wrong is None or rank > self._wrong[0]:
            self._wrong = rank, pod

    def of(self, kind: str, found: Object) -> Object | None:
        """The pod to look at. Pods that failed long ago say nothing about a workload that is well now."""
        wrong = None if self._wrong is None else self._wrong[1]
        if self._well is not None and (wrong is None or (is_finished(wrong) and has_all(kind, found))):
            return self._well
        return wrong


def _rank(pod: Object) -> int:
    """How much a pod shows: one that waits or crashes, then one that failed, then one that has just been made."""
    if is_finished(pod):
        return 1
    return 2 if (was_looked_at(pod) and not node_name(pod)) or any(containers(pod)) else 0
