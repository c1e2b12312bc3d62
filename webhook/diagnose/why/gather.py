"""Finds the object of a question, and gathers what its state makes necessary."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Final

from webhook.cluster import nodes
from webhook.cluster.classes import KUEUE, POD_GROUPS, WORKLOADS
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
    Objects,
    all_of,
)
from webhook.cluster.reading import Object, Owner, condition, entries, part, word
from webhook.diagnose.chain import SHOWN, Held, chains, seen_of
from webhook.diagnose.pods import OWNED, UNFINISHED, asking, extended, held_by_node, reachable_pods, requests_of
from webhook.diagnose.saved import SavedObjects
from webhook.diagnose.why.case import Case, Log, Reference
from webhook.diagnose.why.state import (
    ContainerState,
    Event,
    containers,
    events_of,
    has_all,
    is_finished,
    is_gated,
    is_unscheduled,
    is_well,
    name_of,
    newest,
    node_name,
    owner_of,
    waits_for_gang,
)
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.messages import Command, printable
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.placement.platforms import shows_gpus
from webhook.policy.placement.reachability import Placement
from webhook.policy.pods.gpu_resources import GpuResources, names_gpu
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.formats import did_you_mean
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


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one object. `wants_log`: the log of the container that fails matters."""

    objects: Objects
    settings: Settings
    more: More
    wants_log: bool = False

    async def case(self, kind: str, namespace: str, found: Object) -> Case:
        """Gather what an object's state makes necessary."""
        is_saved = not self.objects.has_all(POD)  # before any list is cut short
        of = Reference(kind, word(found, "metadata", "namespace") or namespace, name_of(found))
        pod = found
        if kind == "Pod":
            makers = await self._controllers(of.namespace, found)
        else:
            makers, pod = await self._made_by(kind, of.namespace, found)
        events = await events_of(self.objects, pod, "Pod") if pod else []
        of_makers: list[Event] = []
        for name, maker in makers if kind != "Pod" else ():
            of_makers += await events_of(self.objects, maker, name)
        queued = await self._queued(of.namespace, makers, pod)
        gang = await self._gang(of.namespace, pod)
        case = Case(of, found, self.settings, pod, makers, events, newest(of_makers), is_saved, queued, gang)
        return await self._around(case) if pod else case

    async def _queued(self, namespace: str, makers: Sequence[tuple[str, Object]], pod: Object) -> Object:
        """The Workload of Kueue for a suspended Job, or for a pod that Kueue gates; empty without one."""
        gates = [word(one, "name") for one in entries(pod, "spec", "schedulingGates")]
        is_held = any(part(one, "spec").get("suspend") is True for kind, one in makers if kind == "Job")
        if not is_held and not any(one.startswith(f"{KUEUE}/") for one in gates):
            return {}
        held = {Owner(kind, name_of(one)): word(one, "metadata", "uid") for kind, one in (*makers, ("Pod", pod))}
        kind = await self.objects.served(WORKLOADS)
        if kind is not None:
            async for one in all_of(self.objects, kind, namespace):
                for reference in entries(
                    one, "metadata", "ownerReferences"
                ):  # of a group of pods, none is a controller
                    uid = held.get(Owner(word(reference, "kind"), word(reference, "name")))
                    # An earlier Job of the same name has another uid; saved objects may have none.
                    if uid is not None and ("" in (uid, word(reference, "uid")) or word(reference, "uid") == uid):
                        return one
        return {}

    async def _gang(self, namespace: str, pod: Object) -> tuple[Object | None, int]:
        """The PodGroup for which the scheduler waits, as `Case.gang` has it, and the number of its pods."""
        kind = await self.objects.served(POD_GROUPS) if waits_for_gang(pod) else None
        if kind is None:
            return {}, 0
        name, count = word(pod, "spec", "schedulingGroup", "podGroupName"), 0
        async for one in all_of(self.objects, POD, namespace):
            count += word(one, "spec", "schedulingGroup", "podGroupName") == name and not is_finished(one)
        found = await self.objects.one(kind, namespace, name)
        return {} if found is None and self.objects.hides(kind, namespace, name) else found, count

    async def _controllers(self, namespace: str, pod: Object) -> list[tuple[str, Object]]:
        """The objects that control a pod, the topmost first; of a kind that is not known, that of the pod alone."""
        makers: list[tuple[str, Object]] = []
        below = pod
        while (owner := owner_of(below)).kind and len(makers) < 2 and (owner.kind in KINDS or not makers):
            kind = KINDS.get(owner.kind)
            found = None if kind is None else await self.objects.one(kind, namespace, owner.name)
            below = found or {"metadata": {"name": owner.name, "namespace": namespace}}
            makers.insert(0, (owner.kind, below))
        return makers

    async def _made_by(self, kind: str, namespace: str, found: Object) -> tuple[list[tuple[str, Object]], Object]:
        """The makers of a workload's pods, and the pod that shows most."""
        makers, own, below = [(kind, found)], Owner(kind, name_of(found)), _MADE_BY.get(kind)
        query, owners = _selector(found), {own}
        if below is not None:
            made = all_of(self.objects, KINDS[below], namespace, **query)
            between = sorted([one async for one in made if owner_of(one) == own], key=_age, reverse=True)
            if not between:
                return makers, {}
            makers.append((below, between[0]))
            owners = {Owner(below, name_of(one)) for one in between}
            query = query or _selector(between[0])
        best: Object = {}
        rank = partial(_rank, is_served=has_all(kind, found))
        async for pod in all_of(self.objects, POD, namespace, **query):
            if owner_of(pod) in owners:
                best = max(best, pod, key=rank) if best else pod
        return makers, best

    async def _around(self, case: Case) -> Case:
        """The case with what surrounds its pod."""
        if is_unscheduled(case.pod):
            return case if is_gated(case.pod) else await self._around_unscheduled(case)
        case = replace(case, log=await self._log(case) if self.wants_log else None)
        return case if not case.node_name or is_finished(case.pod) else await self._around_bound(case)

    async def _around_unscheduled(self, case: Case) -> Case:
        names, namespace = requests_of(case.pod, extended), case.of.namespace
        facts = await self._facts() if names else Facts()
        (context,) = self._contexts([case.pod], facts) if facts.nodes is not None else (None,)
        if context is None:
            return replace(case, facts=facts)
        case = replace(case, facts=facts, context=context)
        placement, index = context.placement, context.placement.cluster.index
        if context.requests.positive and (candidates := [*index.nodes(placement.candidates)]):
            return replace(case, held=await self._held(namespace, candidates, names))
        if not any(names_gpu(name, placement.cluster.classes.gpus) for name in names):
            return case
        among = suspects(placement, names)
        unlabelled = [] if among else [*islice(index.nodes(placement.selected), 1)]  # perhaps nothing labels nodes
        found = await chains(self.objects, self.settings, facts, among, namespace, unlabelled)
        return replace(case, chains=found)

    def _contexts(self, pods: Sequence[Object], facts: Facts) -> Iterator[PodContext | None]:
        """The context in which each pod is checked as it is, without any edit; None for a malformed pod."""
        evaluator = OfflineEvaluator.of(self.settings, facts)
        for pod in pods:
            origin = RequestContext(word(pod, "metadata", "namespace"), is_final_hook=True, is_update=True, groups=())
            policy = evaluator.snapshot.of(origin.namespace)
            try:
                found = evaluator.pods(pod, "", "Pod")
                yield PodContext(found[0], origin, policy, tolerates=False) if found else None
            except MalformedError:
                yield None

    async def _facts(self) -> Facts:
        """The facts about nodes, from saved nodes where no other source has them."""
        facts = await self.more(("nodes", "deviceClasses", "runtimeClasses"))
        if facts.nodes is None and not self.objects.lacks(NODE):
            found = nodes.of_objects(await self.objects.listed(NODE) or (), Decisive.of(self.settings), others=True)
            facts = replace(facts, nodes=tuple(found))
        return facts

    async def _held(self, namespace: str, candidates: Sequence[Node], wants: Mapping[str, int]) -> Held:
        """Who holds what of the nodes that could take a pod."""
        few, gpus = len(candidates) <= _FEW, GpuResources(self.settings.resources)
        queries = [f"spec.nodeName={one.name}" for one in candidates] if few else ["spec.nodeName!="]
        pods = []
        for one in queries:
            query = {"fieldSelector": f"{one},{UNFINISHED}"}
            pods += await reachable_pods(self.objects, self.settings, namespace, query, wants)
        held = Held(held_by_node(pods), self.objects.has_all(POD))
        if held.is_complete and any(held.has_room(one, wants) for one in candidates):
            return held  # the answer names no holders
        capacity = {one.name: (await seen_of(self.objects, one, gpus)).capacity for one in candidates[:SHOWN]}
        return held._replace(capacity=capacity)

    async def _around_bound(self, case: Case) -> Case:
        name = case.node_name
        node = await self.objects.one(NODE, None, name)
        if node is None and not self.objects.hides(NODE, None, name):
            node = {}
        asks = requests_of(case.pod, extended)
        known = [*nodes.of_objects([node], Decisive.of(self.settings))] if node else []
        if node is None and asks:
            known = [one for one in (await self.more(("nodes",))).nodes or () if one.name == name]
        facts = Facts(nodes=tuple(known)) if known else Facts()
        beside = await self._neighbours(name) if asks and any(containers(case.pod)) else None
        context, *others = self._contexts([case.pod, *(beside or ())], facts)
        names = [f"{word(one, 'metadata', 'namespace')}/{name_of(one)}" for one in beside or ()]
        neighbours = None if beside is None else [*zip(names, others, strict=True)]
        found = await chains(self.objects, self.settings, facts, known, "") if asks else []
        return replace(case, facts=facts, context=context, node=node, neighbours=neighbours, chains=found)

    async def _neighbours(self, node: str) -> list[Object] | None:
        """The pods of a node, without those that have ended; None if they cannot be read."""
        pods = all_of(self.objects, POD, None, fieldSelector=f"spec.nodeName={node},{UNFINISHED}")
        found = [one async for one in pods if node_name(one) == node and not is_finished(one)]
        return found if self.objects.has_all(POD) else None

    async def _log(self, case: Case) -> Log | None:
        """The log of the container that failed, else of the first that asks for an extended resource."""
        states = list(containers(case.pod))
        failed = next((one for one in states if one.failure), None)
        asks = asking(case.pod, extended)
        chosen = failed or next((one for one in states if one.name in asks), states[0] if states else None)
        if chosen is None:
            return None
        previous = bool(failed and not failed.ended and failed.ended_before)
        text = await self.objects.log(case.of.namespace, name_of(case.pod), chosen.name, previous=previous)
        return None if text is None else Log(chosen.name, text)


def suspects(placement: Placement, names: Collection[str]) -> list[Node]:
    """The nodes on which the pod would run with the GPUs that they do not offer, the likeliest first.

    These are the nodes that its selectors admit; a node without a sign of GPUs is one only if the pod selects nodes.
    """

    def rank(node: Node) -> int:
        if any(name in node.resources for name in names):
            return 0
        gpus = placement.cluster.classes.gpus
        if shows_gpus(node.labels, node.taints) or any(names_gpu(name, gpus) for name in node.resources):
            return 1
        return 3 if node.taints else 2

    nodes = placement.cluster.index.nodes(placement.selected)
    ranked = [(rank(one), one) for one in nodes if not all(one.resources.get(name) for name in names)]
    most = 3 if placement.requirement is not None else 1
    return [one for at, one in sorted(ranked, key=itemgetter(0)) if at <= most][:_MOST_SUSPECTS]


_MOST_SUSPECTS: Final = 4
"""Nodes whose chains are read."""


def _selector(found: Object) -> dict[str, str]:
    """The label selector of a workload, for a list; empty where it has none."""
    labels = part(found, "spec", "selector", "matchLabels")
    pairs = [f"{key}={value}" for key, value in labels.items() if isinstance(value, str)]
    return {"labelSelector": ",".join(pairs)} if pairs else {}


def _age(one: Object) -> tuple[int, str]:
    """Sorts objects by age: ReplicaSets by the revision that the Deployment gives them."""
    revision = word(one, "metadata", "annotations", "deployment.kubernetes.io/revision")
    is_number = revision.isdecimal() and len(revision) < 10
    return int(revision) if is_number else 0, word(one, "metadata", "creationTimestamp")


def _rank(pod: Object, *, is_served: bool) -> tuple[int, str]:
    """How much a pod shows: most if it waits or crashes, then if it starts, has failed, was just made, or is well.

    Pods that failed long ago say nothing about a workload that has all its pods now. Of equals, the newest shows most.
    """
    shows = 3 if any(containers(pod)) else 1
    if is_well(pod):
        shows = 0
    elif is_finished(pod):
        shows = -1 if is_served else 2
    elif (condition(pod, "PodScheduled") and not node_name(pod)) or not all(map(_starts, containers(pod))):
        shows = 4
    return shows, word(pod, "metadata", "creationTimestamp")


def _starts(one: ContainerState) -> bool:
    """Whether a container has not run yet, and the kubelet names no problem."""
    return not one.restarts and word(one.waiting, "reason") in ("ContainerCreating", "PodInitializing")


# The kinds and names of a question, as users spell them, and names that are near.

_SPELLED: Final[Mapping[str, str]] = {
    **{spelled: name for name, kind in KINDS.items() for spelled in (kind.name, kind.plural)},
    "po": "Pod",
    "deploy": "Deployment",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "cj": "CronJob",
}
"""The kinds by the names that kubectl knows, with the short ones."""

_MOST: Final = 500
"""Names among which a near one is looked for."""


class KindError(ValueError):
    """A word that names no kind of which `why` knows causes. The message says what to do."""


def kind_of(asked: str) -> str:
    """The kind for a word of kubectl: its name, its plural, or its short name. Raises KindError."""
    spelled = asked.lower().partition(".")[0]
    if spelled in _SPELLED:
        return _SPELLED[spelled]
    if spelled in ("node", "nodes", "no"):
        doctor = Command("kubectl", "gpushare", "doctor")
        raise KindError(f'why is about pods; "{doctor}" checks nodes, and "top" shows who holds replicas')
    names = [kind.name for kind in KINDS.values()]
    remedy = did_you_mean(spelled, names) or f"choose from {', '.join(names)}"
    raise KindError(f'there is no type "{printable(asked)}"; {remedy}')


async def lookup(objects: Objects, kind: Kind, namespace: str | None, name: str) -> Object | None:
    """The object of a name, in a namespace or in any; None where there is none, or it cannot be read."""
    if namespace is not None:
        return await objects.one(kind, namespace, name)
    async for one in all_of(objects, kind, None, fieldSelector=f"metadata.name={name}"):
        if name_of(one) == name:
            return one
    return None


async def nearest(objects: Objects, kind: Kind, namespace: str | None, name: str) -> str:
    """The question whether a user meant a name that is near; empty where none is, or names cannot be read."""
    names: list[str] = []
    async for one in all_of(objects, kind, namespace, OWNED):
        names.append(name_of(one))
        if len(names) == _MOST:
            break
    pods = sorted(one for one in names if one.startswith(f"{name}-")) if kind.name == "pod" else []
    if pods:  # the name is that of the workload
        return f'did you mean "{printable(pods[0])}", or a workload such as deployment/{name}?'
    return did_you_mean(name, names) or ""


def topmost(objects: SavedObjects, kind: str, name: str, namespace: str | None) -> tuple[str, Object]:
    """The object of a name among saved ones; without a name, the only one that no other of them controls.

    Raises LookupError, with a message that says what to do.
    """
    if name:
        of_kind = objects.of(KINDS[kind])
        same = [one for one in of_kind if name_of(one) == name]
        if not same:
            names = [*map(name_of, of_kind)]
            remedy = did_you_mean(name, names) or f"the files hold {', '.join(names[:8]) or 'none of this type'}"
            raise LookupError(f"{KINDS[kind].name} {printable(name)} is not in the files; {printable(remedy)}")
        return kind, next((one for one in same if word(one, "metadata", "namespace") == namespace), same[0])
    found = [(Owner(each, name_of(one)), one) for each in KINDS for one in objects.of(KINDS[each])]
    names_of = {own for own, _ in found}
    top = [(own, one) for own, one in found if owner_of(one) not in names_of]
    if not top:
        raise LookupError("the files hold no pod and no workload")
    if len(top) > 1:
        listed = ", ".join(f"{own.kind.lower()}/{own.name}" for own, _ in top[:8])
        raise LookupError(f"name one of the objects: {printable(listed)}")
    return top[0][0].kind, top[0][1]
