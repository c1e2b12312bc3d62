"""The answer of `plan`: only what changes, its data and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from webhook.cluster.objects import POD, Objects, all_of
from webhook.cluster.served import Served
from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.audit.census import take
from webhook.diagnose.audit.outcome import Auditor
from webhook.diagnose.audit.report import outcome_data, row_data
from webhook.diagnose.plan.effects import (
    Capacity,
    GpuPods,
    NodeChange,
    Unfit,
    VerdictChange,
    capacities,
    node_changes,
    unfit,
    verdict_changes,
)
from webhook.diagnose.plan.fit import Fit, Fitter
from webhook.diagnose.plan.worlds import Worlds
from webhook.diagnose.pods import held_by_node
from webhook.diagnose.sharing import Offer, offers
from webhook.diagnose.top import MOST_HOLDERS
from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest
from webhook.patch import pointer
from webhook.policy.messages import printable
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.verdict import Finding
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, hanging, table

_SHOWN = 10
"""Names in one line of text."""

_AMOUNTS = {False: ("held", "total"), True: ("wantedMiB", "shareMiB")}
"""The names of the amounts of pods that no longer fit, and of those that count on more memory."""


class Restart(NamedTuple):
    """A node whose device plugin gets another configuration, and the replicas that are held there."""

    node: str
    held: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer: what changes. `notes` say what the change does not reach, and what the checks warn of."""

    kind: ClassVar[str] = "PlanReport"

    nodes: tuple[NodeChange, ...] = ()
    capacity: tuple[Capacity, ...] = ()
    verdicts: tuple[VerdictChange, ...] = ()
    unfit: tuple[Unfit, ...] = ()
    restarts: tuple[Restart, ...] = ()
    fits: tuple[Fit, ...] = ()
    notes: tuple[str, ...] = ()

    def exit_code(self, unread: int) -> ExitCode:
        return code(unread, is_bad=self.is_worse)

    @property
    def is_worse(self) -> bool:
        """Whether something gets worse, or does not fit."""
        return (
            bool(self.unfit)
            or any(one.turn.is_worse for one in self.verdicts)
            or any(one.is_short for one in self.capacity)
            or any(one.is_short for one in self.fits)
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "worse": self.is_worse,
            "nodes": [
                {
                    **one._asdict(),
                    "before": one.before and one.before.as_data(),
                    "after": one.after and one.after.as_data(),
                }
                for one in self.nodes
            ],
            "capacity": [{**one._asdict(), "short": one.is_short} for one in self.capacity],
            "verdicts": [
                {
                    "change": one.turn.name.lower(),
                    **row_data(one.row, one.row.outcomes[1]),
                    "before": outcome_data(one.row.outcomes[0]),
                    "new": _finding_data(one.new),
                    "gone": _finding_data(one.gone),
                }
                for one in self.verdicts
            ],
            "unfit": [
                {
                    "node": one.node,
                    "resource": one.resource,
                    **dict(zip(_AMOUNTS[one.is_memory], (one.wanted, one.left), strict=True)),
                    "pods": [{"namespace": pod.namespace, "name": pod.name} for pod in one.pods[:MOST_HOLDERS]],
                    "podCount": len(one.pods),
                }
                for one in self.unfit
            ],
            "restarts": [one._asdict() for one in self.restarts],
            "fits": [
                {
                    "object": one.subject.as_data(),
                    "wanted": one.wanted,
                    "fitting": one.fitting,
                    "denied": one.is_denied,
                    "nodes": [{"node": node, "count": count} for node, count in one.nodes],
                }
                for one in self.fits
            ],
            "notes": list(self.notes),
        }

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        parts = (
            ("Nodes", self._of_nodes(width)),
            ("Pods that no longer fit", self._of_pods(width)),
            ("Verdicts", self._of_verdicts(width)),
            ("Pods of the manifests", self._of_fits(width)),
            ("Restart the device plugin in this order", self._of_restarts(width)),
            ("Notes", (line for note in self.notes for line in hanging(" ", printable(note, 1024), width, "    "))),
        )
        is_empty = True
        for title, lines in parts:
            for number, line in enumerate(lines):
                if number == 0:
                    yield from ([] if is_empty else [""])
                    yield f"{title}:"
                    is_empty = False
                yield line
        if is_empty:
            yield "nothing changes" + (" of what could be read" if unread else "")
        yield from lines_of_unread(unread, width)

    def _of_nodes(self, width: int | None) -> Iterator[str]:
        if self.nodes:
            head = ("  NODE", "RESOURCE", "STRATEGY", "REPLICAS", "SHARE", "HELD")
            rows = []
            for node in self.nodes:
                pairs = zip(_shown(node.before), _shown(node.after), strict=True)
                changes = (was if was == becomes else f"{was} -> {becomes}" for was, becomes in pairs)
                rows.append((f"  {node.node}", node.resource, *changes, node.held))
            yield from table(head, rows, width)
        for one in self.capacity:
            short = "; they no longer fit" if one.is_short else ""
            said = f"{one.before} -> {one.after} in all; pods ask for {one.asked}{short}"
            yield from hanging(f"  {printable(one.resource)}:", said, width, "    ")

    def _of_pods(self, width: int | None) -> Iterator[str]:
        for one in self.unfit:
            shown = ", ".join(map(str, one.pods[:_SHOWN]))
            more = f" and {len(one.pods) - _SHOWN} more" if len(one.pods) > _SHOWN else ""
            head, names = f"  {printable(one.node)}:", printable(f"{shown}{more}", 4096)
            if one.is_memory:
                said = f"count on {one.wanted} MiB of {printable(one.resource)}, and a replica has {one.left}: {names}"
            else:
                said = f"{one.wanted} of {printable(one.resource)} held, {one.left} offered: {names}"
            yield from hanging(head, said, width, "    ")

    def _of_verdicts(self, width: int | None) -> Iterator[str]:
        for one in self.verdicts:
            pods = f", {counted(one.row.pods, 'pod')}" if one.row.subject.kind != "Pod" else ""
            yield from hanging(f"  {one.turn.value}:", f"{printable(one.row.where, 512)}{pods}", width, "    ")
            for sign, findings in (("+", one.new), ("-", one.gone)):
                for finding in findings:
                    said = f"{finding.severity.label}: {finding.message}"
                    yield from hanging(f"    {sign} {finding.code}", said, width, "      ")

    def _of_fits(self, width: int | None) -> Iterator[str]:
        for one in self.fits:
            there = ", ".join(f"{printable(node)} ({count})" for node, count in one.nodes[:_SHOWN])
            more = f" and {len(one.nodes) - _SHOWN} more nodes" if len(one.nodes) > _SHOWN else ""
            said = "the webhook denies it" if one.is_denied else f"{one.fitting} of {one.wanted} fit"
            where = f": {there}{more}" if there else ""
            yield from hanging(f"  {one.subject}:", f"{said}{where}", width, "    ")

    def _of_restarts(self, width: int | None) -> Iterator[str]:
        for number, one in enumerate(self.restarts, 1):
            held = f"{counted(one.held, 'replica')} held; drain it first" if one.held else "free"
            yield from hanging(f"  {number}. {printable(one.node)}:", held, width, "    ")


def _shown(offer: Offer | None) -> Sequence[str]:
    """The strategy, the replicas and the share of a resource in a table."""
    if offer is None:
        return "?", "0", "-"
    share = "-" if offer.share is None or not offer.total else f"{offer.share} MiB"
    return offer.strategy or "?", str(offer.total), share


def _finding_data(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"code": one.code, "severity": one.severity.label, "path": pointer(one.path)} for one in findings]


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
    found = GpuPods(GpuResources(tuple(resources.values())).find)
    is_whole = namespace is None and not query
    rows = []
    if two.differ:
        auditor = Auditor([two.before, two.after])
        each_pod = found.add if is_whole else lambda _pod: None
        rows = (await take(objects, auditor, kinds, namespace, query, each_pod)).rows()
    if (two.restarts is not None or manifests) and not (two.differ and is_whole):
        # Pods of all namespaces hold replicas; those of one are read where no more is allowed.
        for place in dict.fromkeys((None, namespace)):
            if place is None or objects.lacks(POD):
                async for one in all_of(objects, POD, place):
                    found.add(one)
    holders = held_by_node(found.pods)
    held = {key: sum(one.amount for one in each) for key, each in holders.items()}
    changes: tuple[NodeChange, ...] = ()
    if two.restarts is not None:
        changes = tuple(node_changes(settings, facts, two.after.snapshot.facts, held))
    on_node: Counter[str] = Counter()
    for (node, _), amount in held.items():
        on_node[node] += amount
    restarts = (Restart(name, on_node[name]) for name in two.restarts or ())
    return Plan(
        changes,
        tuple(capacities(changes, offers(settings, facts), found.pods)),
        tuple(verdict_changes(rows)),
        tuple(unfit(changes, holders, found.limits)),
        tuple(sorted(restarts, key=lambda one: (one.held, one.node))),  # free ones first
        tuple(Fitter(two.after, held, namespace or "").fits(manifests)),
        two.notes,
    )
