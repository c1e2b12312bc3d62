"""The two worlds of a plan, and the answer from the objects that live in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.cluster.objects import POD, Object, Objects
from webhook.cluster.served import Served
from webhook.diagnostics import Diagnostic
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.live.audit.census import take
from webhook.live.audit.outcome import Auditor
from webhook.live.plan.configuration import NewPlugin
from webhook.live.plan.fit import Fitter
from webhook.live.plan.nodes import PlannedNodes, node_changes, planned_nodes
from webhook.live.plan.pods import GpuPod, capacities, gpu_pod, held_amounts, unfit
from webhook.live.plan.report import Plan, Restart
from webhook.live.plan.verdicts import verdict_changes
from webhook.live.sharing import offers
from webhook.manifests import Manifest
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings


class Worlds(NamedTuple):
    """The cluster before and after a change. `planned` is None where the device plugin stays as it is."""

    before: OfflineEvaluator
    after: OfflineEvaluator
    planned: PlannedNodes | None
    notes: tuple[str, ...]

    @property
    def differ(self) -> bool:
        return self.before is not self.after


def worlds(settings: Settings, facts: Facts, wanted: Settings, plugin: NewPlugin | None) -> Worlds:
    """The worlds for settings that change, and for a new configuration of the device plugin."""
    before = OfflineEvaluator.of(settings, facts)
    if plugin is None:
        return Worlds(before, before if wanted == settings else OfflineEvaluator.of(wanted, facts), None, ())
    becomes = replace(facts, device_plugin=plugin.plugin)
    planned = planned_nodes(settings, facts, becomes)
    becomes = replace(becomes, nodes=None if facts.nodes is None else planned.nodes)
    return Worlds(before, OfflineEvaluator.of(wanted, becomes), planned, (*plugin.warnings, *_notes(planned)))


def _notes(planned: PlannedNodes) -> Iterator[str]:
    for name in planned.kept:
        yield f"node {name}: neither its label nor the default names a new configuration, so that nothing changes there"
    for name in planned.unknown:
        remedy = "run GPU feature discovery, or name the plugin's ConfigMap in facts.devicePlugin"
        yield f"node {name}: neither labels nor amounts show how many cards it has, so that it is left out; {remedy}"


async def plan(
    objects: Objects,
    two: Worlds,
    kinds: Sequence[Served],
    namespace: str | None,
    query: Mapping[str, str],
    manifests: Sequence[Manifest | Diagnostic] = (),
) -> Plan:
    """Read what lives in a namespace, None for all, and say what the change does to it.

    Raises InputError for the manifests, of which the plan says where they fit.
    """
    settings, facts = two.before.snapshot.settings, two.before.snapshot.facts
    resources = {one.name: one for each in (settings, two.after.snapshot.settings) for one in each.resources}
    lookup = GpuResources(tuple(resources.values())).find
    pods: list[GpuPod] = []

    def add(found: Object) -> None:
        if (pod := gpu_pod(found, lookup)) is not None:
            pods.append(pod)

    is_whole = namespace is None and not query
    rows = []
    if two.differ:
        auditor = Auditor([two.before, two.after])
        rows = (await take(objects, auditor, kinds, namespace, query, add if is_whole else lambda _pod: None)).rows()
    if (two.planned is not None or manifests) and not (two.differ and is_whole):
        # Pods of all namespaces hold replicas; those of one are read where no more is allowed.
        for space in dict.fromkeys((None, namespace)):
            if space is None or objects.lacks(POD):
                async for page in objects.pages(POD, space):
                    for one in page:
                        add(one)
    held = held_amounts(pods)
    changes = tuple(node_changes(settings, facts, two.after.snapshot.facts, held)) if two.planned is not None else ()
    totals: Counter[str] = Counter()
    for offer in offers(settings, facts):
        totals[offer.resource] += offer.total
    return Plan(
        changes,
        tuple(capacities(changes, totals, pods)),
        tuple(verdict_changes(rows)),
        tuple(unfit(changes, pods)),
        tuple(_restarts(two.planned, held)),
        tuple(Fitter(two.after, held, namespace or "").fits(manifests)),
        two.notes,
    )


def _restarts(planned: PlannedNodes | None, held: Mapping[tuple[str, str], int]) -> Iterable[Restart]:
    """The nodes whose plugin restarts: free ones first, then by the replicas that are held."""
    on_node: Counter[str] = Counter()
    for (node, _), amount in held.items():
        on_node[node] += amount
    found = () if planned is None else (Restart(name, on_node[name]) for name in planned.restarts)
    return sorted(found, key=lambda one: (one.held, one.node))
