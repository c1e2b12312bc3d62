"""`top`: who holds which replicas, by node, by namespace or by owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.pods import Holding, LivePod, held_by
from webhook.diagnose.sharing import CLOSED, Offer, closed, offers
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import first, hanging, table

MOST_HOLDERS = 100
"""Holders of a row that a report lists; all are counted."""

_SHOWN = 20
"""Holders of a row that the text names."""

_MIB = 1024


BY = NODE, NAMESPACE, OWNER = "node", "namespace", "owner"
"""What a row of the answer is about."""


class Row(NamedTuple):
    """Replicas of one resource that a node offers, or that the pods of a namespace or of an owner hold.

    `offer` is None in rows about namespaces and owners. `rejected` counts the pods that the kubelet rejected because of
    a device plugin (UnexpectedAdmissionError). These pods hold nothing.
    """

    of: str
    resource: str
    holders: Sequence[Holding]
    rejected: int
    offer: Offer | None

    @property
    def held(self) -> int:
        return sum(one.amount for one in self.holders)


def rows(pods: Collection[LivePod], of: Callable[[LivePod], str], offered: Iterable[Offer] = ()) -> Iterator[Row]:
    """The rows by what `of` names, with the largest holders first. A rejected pod counts in the first row of its name.

    Pods may hold what no known node offers.
    """
    offering = {(one.node, one.resource): one for one in offered}
    held, rejected = held_by(pods, of), Counter(of(pod) or "-" for pod in pods if pod.was_rejected)
    without = [(name, "-") for name in rejected.keys() - {name for name, _ in (*offering, *held)}]
    for key in sorted({*offering, *held, *without}):
        yield Row(*key, held.get(key, ()), rejected.pop(key[0], 0), offering.get(key))


@dataclass(frozen=True, slots=True)
class Top:
    """The answer: a row for each node, namespace or owner, and resource.

    `counts_all`: no pod is left out by rights or a selector, so that the rest of a node is free. `closed` says of nodes
    that take no pods why not.
    """

    kind: ClassVar[str] = "TopReport"

    by: str
    rows: Sequence[Row]
    counts_all: bool = True
    closed: Sequence[tuple[str, str]] = ()

    def as_data(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "countsAllPods": self.counts_all,
            "rows": [
                {
                    self.by: row.of,
                    "resource": row.resource,
                    "held": row.held,
                    **({} if row.offer is None else row.offer.as_data()),
                    "holders": [
                        {"namespace": pod.namespace, "name": pod.name, "node": pod.node, "amount": amount}
                        for pod, _, amount in row.holders[:MOST_HOLDERS]
                    ],
                    "holderCount": len(row.holders),
                    "rejected": row.rejected,
                }
                for row in self.rows
            ],
            "closed": [{"node": node, "why": why} for node, why in self.closed],
        }

    def exit_code(self, unread: int) -> ExitCode:
        return code(unread)

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        if not self.rows:
            yield "no GPU resources are offered or held" + (" by what could be read" if unread else "")
        else:
            shown = [_cells(row, self.by) for row in self.rows]
            yield from table(list(shown[0]), [list(cells.values()) for cells in shown], width)
        for node, why in self.closed:
            yield from hanging(f"takes no pods: {printable(node)}:", why, width, "  ")
        if self.rows and not self.counts_all:
            yield "held: by the pods that you selected or may list; others may hold more"
        if any(row.rejected for row in self.rows):
            yield "rejected: pods that ended in UnexpectedAdmissionError; they hold nothing"
        yield from lines_of_unread(unread, width)


def _cells(row: Row, by: str) -> dict[str, str]:
    """The cells of a table by their heads."""
    strategy, total, share = "?", "?", "?"
    if row.offer is not None:
        strategy, total = row.offer.strategy or "?", str(row.offer.total)
        share = "-" if row.offer.share is None else f"{row.offer.share / _MIB:.1f}Gi"
    names = [f"{one.pod}" + (f" ({one.amount})" if one.amount > 1 else "") for one in row.holders]
    ends = {"REJECTED": str(row.rejected or "-"), "HOLDERS": first(names, _SHOWN) or "-"}
    if by != NODE:
        return {by.upper(): row.of, "RESOURCE": row.resource, "HELD": str(row.held), **ends}
    held = f"{row.held}/{total}"
    return {"NODE": row.of, "STRATEGY": strategy, "RESOURCE": row.resource, "HELD": held, "SHARE": share, **ends}


def by_node(settings: Settings, facts: Facts, pods: Collection[LivePod], *, counts_all: bool = True) -> Top:
    """The answer by node: each resource that a node offers, and what pods hold of it."""
    found = list(rows(pods, lambda pod: pod.node, offers(settings, facts)))
    named = {row.of for row in found}
    why = ((one.name, closed(one.taints)) for one in facts.nodes or () if one.name in named)
    return Top(NODE, found, counts_all, [(name, CLOSED[key]) for name, key in why if key])
