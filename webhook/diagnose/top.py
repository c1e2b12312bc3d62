"""`top`: who holds which replicas, by node, by namespace or by owner."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.owners import Owners
from webhook.diagnose.pods import Holding, LivePod, held_by_node, holdings
from webhook.diagnose.sharing import CLOSED, Offer, closed, offers
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import hanging, table

MOST_HOLDERS = 100
"""Holders of a row that a report lists; all are counted."""

_SHOWN = 20
"""Holders of a row that the text names."""

_MIB = 1024


class By(Enum):
    """What a row of the answer is about."""

    NODE = "node"
    NAMESPACE = "namespace"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Row:
    """Replicas of one resource that a node offers, or that the pods of a namespace or of an owner hold.

    `offer` is None in rows about namespaces and owners. `rejected` counts the pods that the kubelet rejected because of
    a device plugin (UnexpectedAdmissionError). These pods hold nothing.
    """

    of: str
    resource: str
    held: int
    holders: tuple[Holding, ...]
    rejected: int
    offer: Offer | None = None

    def as_data(self, by: By) -> dict[str, Any]:
        described: dict[str, Any] = {by.value: self.of, "resource": self.resource, "held": self.held}
        if self.offer is not None:
            described |= self.offer.as_data()
        holders = [
            {"namespace": one.pod.namespace, "name": one.pod.name, "node": one.pod.node, "amount": one.amount}
            for one in self.holders[:MOST_HOLDERS]
        ]
        return {**described, "holders": holders, "holderCount": len(self.holders), "rejected": self.rejected}


@dataclass(frozen=True, slots=True)
class Top:
    """The answer: a row for each node, namespace or owner, and resource.

    `counts_all`: no pod is left out by rights or a selector, so that the rest of a node is free. `closed` says of nodes
    that take no pods why not.
    """

    kind: ClassVar[str] = "TopReport"

    by: By
    rows: tuple[Row, ...]
    counts_all: bool = True
    closed: tuple[tuple[str, str], ...] = ()

    def as_data(self) -> dict[str, Any]:
        return {
            "by": self.by.value,
            "countsAllPods": self.counts_all,
            "rows": [row.as_data(self.by) for row in self.rows],
            "closed": [{"node": node, "why": why} for node, why in self.closed],
        }

    def exit_code(self, unread: int) -> ExitCode:
        return code(unread)

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        if not self.rows:
            yield "no GPU resources are offered or held" + (" by what could be read" if unread else "")
            yield from lines_of_unread(unread, width)
            return
        of_nodes = self.by is By.NODE
        head = [self.by.value.upper(), *(["STRATEGY"] if of_nodes else []), "RESOURCE", "HELD"]
        head += [*(["SHARE"] if of_nodes else []), "REJECTED", "HOLDERS"]
        yield from table(head, [_cells(row, of_nodes=of_nodes) for row in self.rows], width)
        for node, why in self.closed:
            yield from hanging(f"takes no pods: {printable(node)}:", why, width, "  ")
        if of_nodes and not self.counts_all:
            yield "held: by the pods that you selected or may list; others may hold more"
        if any(row.rejected for row in self.rows):
            yield "rejected: pods that ended in UnexpectedAdmissionError; they hold nothing"
        yield from lines_of_unread(unread, width)


def _cells(row: Row, *, of_nodes: bool) -> Sequence[str]:
    shown = [f"{one.pod}" + (f" ({one.amount})" if one.amount > 1 else "") for one in row.holders[:_SHOWN]]
    more = f" and {len(row.holders) - _SHOWN} more" if len(row.holders) > _SHOWN else ""
    rejected, names = str(row.rejected or "-"), ", ".join(shown) + more or "-"
    if not of_nodes:
        return (row.of, row.resource, str(row.held), rejected, names)
    offer = row.offer
    if offer is None:
        return (row.of, "?", row.resource, f"{row.held}/?", "?", rejected, names)
    share = "-" if offer.share is None else f"{offer.share / _MIB:.1f}Gi"
    return (row.of, offer.strategy or "?", row.resource, f"{row.held}/{offer.total}", share, rejected, names)


def by_node(settings: Settings, facts: Facts, pods: Sequence[LivePod], *, counts_all: bool = True) -> Top:
    """The answer by node: each resource that a node offers, and what pods hold of it.

    A pod that was rejected counts in the first row of its node.
    """
    held = held_by_node(pods)
    rejected = Counter(pod.node for pod in pods if pod.was_rejected)
    rows = []
    for offer in offers(settings, facts):
        found = held.pop((offer.node, offer.resource), [])
        rows.append(_row(offer.node, offer.resource, found, rejected.pop(offer.node, 0), offer))
    for (node, resource), found in sorted(held.items()):  # nodes that are not known, or no longer offer the resource
        rows.append(_row(node, resource, found, rejected.pop(node, 0)))
    rows += [_row(node or "-", "-", (), count) for node, count in sorted(rejected.items())]  # such nodes offer nothing
    known = {one.name: CLOSED[key] for one in facts.nodes or () if (key := closed(one.taints))}
    names = dict.fromkeys(row.of for row in rows if row.of in known)
    return Top(By.NODE, tuple(rows), counts_all, tuple((name, known[name]) for name in names))


def by_namespace(pods: Sequence[LivePod]) -> Top:
    """The answer by namespace."""
    return _grouped(By.NAMESPACE, pods, lambda pod: pod.namespace)


def by_owner(pods: Sequence[LivePod], owners: Owners) -> Top:
    """The answer by the topmost owner."""
    return _grouped(By.OWNER, pods, lambda pod: f"{pod.namespace}/{owners.top(pod)}")


def _grouped(by: By, pods: Sequence[LivePod], name: Callable[[LivePod], str]) -> Top:
    held: dict[tuple[str, str], list[Holding]] = defaultdict(list)
    for one in holdings(pods):
        held[name(one.pod), one.resource].append(one)
    rejected = Counter(name(pod) for pod in pods if pod.was_rejected)
    rows = [_row(of, resource, found, rejected.pop(of, 0)) for (of, resource), found in sorted(held.items())]
    rows += [_row(of, "-", (), count) for of, count in sorted(rejected.items())]
    return Top(by, tuple(rows))


def _row(of: str, resource: str, found: Sequence[Holding], rejected: int, offer: Offer | None = None) -> Row:
    return Row(of, resource, sum(one.amount for one in found), tuple(found), rejected, offer)
