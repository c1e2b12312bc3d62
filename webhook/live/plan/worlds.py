"""The two worlds of a plan, and the answer from the objects that live in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.cluster.objects import POD, Object, Objects
from webhook.cluster.served import Served
from webhook.diagnostics import Diagnostic
from webhook.live.audit.census import take
from webhook.live.audit.outcome import Auditor
from webhook.live.plan.configuration import NewPlugin
from webhook.live.plan.dra import DraChecker, dra_rows
from webhook.live.plan.fit import Fitter
from webhook.live.plan.nodes import PlannedNodes, node_changes, planned_nodes
from webhook.live.plan.pods import GpuPod, capacities, gpu_pod, held_amounts, unfit
from webhook.live.plan.report import Plan, Restart
from webhook.live.plan.verdicts import verdict_changes
from webhook.live.sharing import offers
from webhook.manifests import Manifest
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings


class Worlds(NamedTuple):
    """The cluster before and after a change. `planned` is None where the device plugin stays as it is."""

    before: Evaluator
    after: Evaluator
    planned: PlannedNodes | None
    notes: tuple[str, ...]

    @property
    def differ(self) -> bool:
        return self.before is not self.after


class Question(NamedTuple):
    """What a plan is about besides the two worlds: a namespace, None for all, and which answers it wants."""

    namespace: str | None
    query: Mapping[str, str]
    to_dra: bool = False
    manifests: Sequence[Manifest | Diagnostic] = ()


def worlds(settings: Settings, facts: Facts, wanted: Settings, plugin: NewPlugin | None) -> Worlds:
    """The worlds for settings that change, and for a new configuration of the device plugin."""
    before = Evaluator.of(settings, facts)
    if plugin is None:
        return Worlds(before, before if wanted == settings else Evaluator.of(wanted, facts), None, ())
    becomes = replace(facts, device_plugin=plugin.plugin)
    planned = planned_nodes(settings, facts, becomes)
    becomes = replace(becomes, nodes=None if facts.nodes is None else planned.nodes)
    return Worlds(before, Evaluator.of(wanted, becomes), planned, (*plugin.warnings, *_notes(planned)))


def _notes(planned: PlannedNodes) -> Iterator[str]:
    for name in planned.kept:
        yield f"node {name}: neither its label nor the default names a new configuration, so that nothing changes there"
    for name in planned.unknown:
        remedy = "run GPU feature discovery, or name the plugin's ConfigMap in facts.devicePlugin"
        yield f"node {name}: neither labels nor amounts show how many cards it has, so that it is left out; {remedy}"


class _Pods:
    """Collects the pods that ask for GPUs, by the names of both worlds."""

    def __init__(self, *settings: Settings) -> None:
        resources = {one.name: one for each in settings for one in each.resources}
        self._lookup = GpuResources(tuple(resources.values())).find
        self.found: list[GpuPod] = []

    def add(self, found: Object) -> None:
        pod = gpu_pod(found, self._lookup)
        if pod is not None:
            self.found.append(pod)


async def plan(objects: Objects, two: Worlds, kinds: Sequence[Served], question: Question) -> Plan:
    """Read what lives in the cluster, and say what the change does to it. Raises InputError for the manifests."""
    settings, facts = two.before.ruleset.settings, two.before.ruleset.facts
    pods = _Pods(settings, two.after.ruleset.settings)
    whole = question.namespace is None and not question.query
    namespace, query = question.namespace, question.query
    rows, dra = [], []
    if two.differ:
        each = pods.add if whole else _ignored
        checker = Auditor([two.before, two.after])
        rows = (await take(objects, checker, kinds, namespace, query, each)).rows()
    if question.to_dra:
        dra = dra_rows((await take(objects, DraChecker(two.before), kinds, namespace, query)).rows())
    if (two.planned is not None or question.manifests) and not (two.differ and whole):
        await _read(objects, namespace, pods)
    held = held_amounts(pods.found)
    changes = tuple(node_changes(settings, facts, two.after.ruleset.facts, held)) if two.planned is not None else ()
    totals: Counter[str] = Counter()
    for offer in offers(settings, facts):
        totals[offer.resource] += offer.total
    return Plan(
        changes,
        tuple(capacities(changes, totals, pods.found)),
        tuple(verdict_changes(rows)),
        tuple(unfit(changes, pods.found)),
        tuple(_restarts(two.planned, held)),
        tuple(dra),
        tuple(Fitter(two.after, held, namespace or "").fits(question.manifests)),
        two.notes,
    )


def _ignored(_pod: Object) -> None:
    """Leave out a pod that is read again with all others."""


async def _read(objects: Objects, namespace: str | None, pods: _Pods) -> None:
    """Read the pods of all namespaces, since they hold replicas; those of one where that is not allowed."""
    async for page in objects.pages(POD, None):
        for one in page:
            pods.add(one)
    if namespace is not None and objects.lacks(POD):
        async for page in objects.pages(POD, namespace):
            for one in page:
                pods.add(one)


def _restarts(planned: PlannedNodes | None, held: Mapping[tuple[str, str], int]) -> Iterable[Restart]:
    """The nodes whose plugin restarts: free ones first, then by the replicas that are held."""
    on_node: Counter[str] = Counter()
    for (node, _), amount in held.items():
        on_node[node] += amount
    found = () if planned is None else (Restart(name, on_node[name]) for name in planned.restarts)
    return sorted(found, key=lambda one: (one.held, one.node))
