"""The answer of `plan`: only what changes of nodes, pods and verdicts, as data and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from webhook.cluster.objects import Kind, Objects
from webhook.cluster.reading import FINISHED, Object, word
from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.audit import Audited, data, described, finding_data, take
from webhook.diagnose.plan.fit import Fitter
from webhook.diagnose.plan.worlds import Worlds
from webhook.diagnose.pods import LivePod, extended, live_pod, reachable, requests_of
from webhook.diagnose.sharing import Offer, offers
from webhook.diagnose.top import MOST_HOLDERS, Row, rows
from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest
from webhook.policy.messages import printable
from webhook.policy.verdict import Decision, Finding, Path, Severity, Verdict
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, first, hanging, table
from webhook.report.model import Subject

Data: TypeAlias = dict[str, Any]

_TURNS: Final = {
    "denied": "newly denied",
    "worse": "new findings",
    "better": "findings gone",
    "admitted": "no longer denied",
}
"""How the verdict about an object changes, the most important first, and the words of the text."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer: what changes, as data. `notes` say what the change does not reach, and what the checks warn of."""

    kind: ClassVar[str] = "PlanReport"

    nodes: Sequence[Data] = ()
    capacity: Sequence[Data] = ()
    verdicts: Sequence[Data] = ()
    unfit: Sequence[Data] = ()
    restarts: Sequence[Data] = ()
    fits: Sequence[Data] = ()
    notes: Sequence[str] = ()

    def exit_code(self, unread: int) -> ExitCode:
        return code(unread, is_bad=self.is_worse)

    @property
    def is_worse(self) -> bool:
        """Whether something gets worse, or does not fit."""
        return (
            bool(self.unfit)
            or any(one["change"] in ("denied", "worse") for one in self.verdicts)
            or any(one["short"] for one in self.capacity)
            or any(one["denied"] or one["fitting"] < one["wanted"] for one in self.fits)
        )

    def as_data(self) -> Data:
        return {"worse": self.is_worse, **{name: list(getattr(self, name)) for name in self.__slots__}}

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        parts: dict[str, list[str]] = {}
        if self.nodes:
            head = ("  NODE", "RESOURCE", "STRATEGY", "REPLICAS", "SHARE", "HELD")
            parts["Nodes"] = list(table(head, list(map(_cells, self.nodes)), width))
        for title, name, said in self._texts():
            indent = " " * (len(name) - len(name.lstrip()) + 2)
            parts.setdefault(title, []).extend(hanging(printable(name, 512), printable(said, 4096), width, indent))
        for number, (title, lines) in enumerate(parts.items()):
            yield from [""] if number else []
            yield f"{title}:"
            yield from lines
        if not parts:
            yield "nothing changes" + (" of what could be read" if unread else "")
        yield from lines_of_unread(unread, width)

    def _texts(self) -> Iterator[tuple[str, str, str]]:
        """The titles, heads and texts of the lines below the table."""
        for one in self.capacity:
            said = "{before} -> {after} in all; pods ask for {asked}".format(**one)
            yield "Nodes", f"  {one['resource']}:", said + "; they no longer fit" * one["short"]
        for one in self.unfit:
            names = first([f"{pod['namespace']}/{pod['name']}" for pod in one["pods"]])
            said = "{held} of {resource} held, {total} offered: ".format(**one)
            yield "Pods that no longer fit", f"  {one['node']}:", said + names
        for one in self.verdicts:
            subject = Subject(*one["object"].values())
            yield "Verdicts", f"  {_TURNS[one['change']]}:", described(subject, one["pods"])
            for sign, each in [*(("+", new) for new in one["new"]), *(("-", gone) for gone in one["gone"])]:
                yield "Verdicts", f"    {sign} {each['code']}", f"{each['severity']}: {each['message']}"
        for one in self.fits:
            said = "the webhook denies it" if one["denied"] else "{fitting} of {wanted} fit".format(**one)
            where = first(["{node} ({count})".format(**each) for each in one["nodes"]])
            said = "; ".join([f"{said}: {where}" if where else said, *one["notes"]])
            yield "Pods of the manifests", f"  {Subject(*one['object'].values())}:", said
        for number, one in enumerate(self.restarts, 1):
            said = f"{counted(one['held'], 'replica')} held; drain it first" if one["held"] else "free"
            yield "Restart the device plugin in this order", f"  {number}. {one['node']}:", said
        for note in self.notes:
            yield "Notes", "  -", note


def _cells(change: Data) -> Sequence[object]:
    """The cells of a node in a table: its strategy, replicas and share before and after, where they differ."""
    pairs = zip(_shown(change["before"]), _shown(change["after"]), strict=True)
    changes = (was if was == becomes else f"{was} -> {becomes}" for was, becomes in pairs)
    return (f"  {change['node']}", change["resource"], *changes, change["held"])


def _shown(offer: Data | None) -> Sequence[object]:
    if offer is None:
        return "?", 0, "-"
    share = f"{offer['shareMiB']} MiB" if offer["shareMiB"] is not None and offer["total"] else "-"
    return offer["strategy"] or "?", offer["total"], share


def node_changes(now: Iterable[Row], becomes: Iterable[Offer]) -> tuple[Sequence[Data], Sequence[Data]]:
    """The resources of nodes that change, and the pods that no longer fit where they hold more than is offered."""
    before = {(row.of, row.resource): row for row in now}
    after = {(one.node, one.resource): one for one in becomes}
    changes, unfit = [], []
    for node, resource in sorted({*before, *after}):
        row = before.get((node, resource)) or Row(node, resource, (), 0, None)
        was, then = row.offer, after.get((node, resource))
        total, left = (0 if one is None else one.total for one in (was, then))
        if was == then or not (total or left):
            continue
        place = {"node": node, "resource": resource}
        ends = {"before": was and was.as_data(), "after": then and then.as_data()}
        changes.append({**place, **ends, "held": row.held})
        if row.held > left < total:
            pods = [{"namespace": one.pod.namespace, "name": one.pod.name} for one in row.holders]
            amounts = {"held": row.held, "total": left}
            unfit.append({**place, **amounts, "pods": pods[:MOST_HOLDERS], "podCount": len(pods)})
    return changes, unfit


def capacities(pods: Iterable[LivePod], before: Iterable[Offer], after: Iterable[Offer]) -> Iterator[Data]:
    """The resources of which the cluster offers more or less, with what all unfinished pods ask for.

    One is short if the pods no longer fit, although they did.
    """
    asked, was, then = Counter[str](), Counter[str](), Counter[str]()
    for pod in pods:
        asked.update(pod.requests)
    for total, offered in ((was, before), (then, after)):
        for one in offered:
            total[one.resource] += one.total
    for name in sorted({*was, *then}):
        if was[name] != then[name]:
            is_short = then[name] < asked[name] <= was[name]
            yield {
                "resource": name,
                "asked": asked[name],
                "before": was[name],
                "after": then[name],
                "short": is_short,
            }


def verdict_changes(audited: Iterable[Audited]) -> Sequence[Data]:
    """The objects whose verdict in the second world differs from that in the first, the worst changes first."""
    found = [one for row in audited if (one := _change(row)) is not None]
    return sorted(found, key=lambda one: list(_TURNS).index(one["change"]))


def _change(row: Audited) -> Data | None:
    """The change of one object. Findings of the severity `audit`, which users do not see, change nothing."""
    before, after = row.verdicts
    was, becomes = _seen(before), _seen(after)
    new = [finding_data(one) for key, one in becomes.items() if key not in was]
    gone = [finding_data(one) for key, one in was.items() if key not in becomes]
    denied = [one.decision is Decision.DENIED for one in row.verdicts]
    if denied[0] is not denied[1]:
        turn = "denied" if denied[1] else "admitted"
    elif new or (after.is_skipped and not before.is_skipped):
        turn = "worse"
    elif gone:
        turn = "better"
    else:
        return None
    return {"change": turn, **row.as_data(after), "before": data(before), "new": new, "gone": gone}


def _seen(verdict: Verdict) -> dict[tuple[str, Severity, Path], Finding]:
    return {(one.code, one.severity, one.path): one for one in verdict.findings if one.severity >= Severity.WARN}


async def plan(
    objects: Objects,
    two: Worlds,
    kinds: Sequence[Kind],
    namespace: str | None,
    query: Mapping[str, str],
    manifests: Sequence[Manifest | Diagnostic] = (),
) -> Plan:
    """Read what lives in a namespace, None for all, and say what the change does to it.

    Raises InputError for the manifests, of which the plan says where they fit.
    """
    settings, facts = two.before.snapshot.settings, two.before.snapshot.facts
    pods: list[LivePod] = []
    fitter = Fitter(two.after)
    await fitter.read(objects, manifests, namespace or "")

    def add(found: Object) -> None:
        if word(found, "status", "phase") in FINISHED:
            return
        if requests_of(found, extended):
            pods.append(live_pod(found, extended))
        if node := word(found, "spec", "nodeName"):
            fitter.hold(node, found)

    is_whole = two.differ and namespace is None and not query
    audited = []
    if two.differ:
        each_pod = add if is_whole else lambda _pod: None
        audited = await take(objects, (two.before, two.after), kinds, namespace, query, each_pod)
    if (two.restarts is not None or manifests) and not is_whole:
        async for one in reachable(objects, namespace):  # pods of all namespaces hold replicas
            add(one)
    offered, then = (list(offers(settings, each)) for each in (facts, two.after.snapshot.facts))
    now = list(rows(pods, lambda pod: pod.node, offered))
    changes, unfit = node_changes(now, then)
    on_node: Counter[str] = Counter()
    for row in now:
        on_node[row.of] += row.held if row.offer else 0
    restarts = [{"node": name, "held": on_node[name]} for name in two.restarts or ()]
    return Plan(
        changes,
        list(capacities(pods, offered, then)),
        verdict_changes(audited),
        unfit,
        sorted(restarts, key=lambda one: (one["held"], one["node"])),  # free ones first
        list(fitter.fits()),
        two.notes,
    )
