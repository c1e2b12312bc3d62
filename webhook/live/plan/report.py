"""The answer of `plan`: only what changes, its data and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from webhook.live.answer import code, lines_of_unread
from webhook.live.audit.report import outcome_data, row_data
from webhook.live.plan.fit import Fit
from webhook.live.plan.nodes import NodeChange
from webhook.live.plan.pods import Capacity, Unfit
from webhook.live.plan.verdicts import VerdictChange
from webhook.live.pods import LivePod
from webhook.live.sharing import Offer
from webhook.live.top import MOST_HOLDERS
from webhook.patch import pointer
from webhook.policy.messages import printable
from webhook.policy.verdict import Finding
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, hanging, table

_SHOWN = 10
"""Names in one line of text."""


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
                {**one._asdict(), "before": _offer_data(one.before), "after": _offer_data(one.after)}
                for one in self.nodes
            ],
            "capacity": [{**one._asdict(), "short": one.is_short} for one in self.capacity],
            "verdicts": [_verdict_data(one) for one in self.verdicts],
            "unfit": [_unfit_data(one) for one in self.unfit],
            "restarts": [one._asdict() for one in self.restarts],
            "fits": [_fit_data(one) for one in self.fits],
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
            yield from table(head, [_cells(one) for one in self.nodes], width)
        for one in self.capacity:
            short = "; they no longer fit" if one.is_short else ""
            said = f"{one.before} -> {one.after} in all; pods ask for {one.asked}{short}"
            yield from hanging(f"  {printable(one.resource)}:", said, width, "    ")

    def _of_pods(self, width: int | None) -> Iterator[str]:
        for one in self.unfit:
            head, names = f"  {printable(one.node)}:", _names(one.pods)
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
            there = ", ".join(f"{printable(node)} ({count})" for node, count in islice(one.nodes, _SHOWN))
            more = f" and {len(one.nodes) - _SHOWN} more nodes" if len(one.nodes) > _SHOWN else ""
            said = "the webhook denies it" if one.is_denied else f"{one.fitting} of {one.wanted} fit"
            where = f": {there}{more}" if there else ""
            yield from hanging(f"  {one.subject}:", f"{said}{where}", width, "    ")

    def _of_restarts(self, width: int | None) -> Iterator[str]:
        for number, one in enumerate(self.restarts, 1):
            held = f"{counted(one.held, 'replica')} held; drain it first" if one.held else "free"
            yield from hanging(f"  {number}. {printable(one.node)}:", held, width, "    ")


def _cells(change: NodeChange) -> Sequence[str]:
    before, after = change.before, change.after
    return (
        f"  {change.node}",
        change.resource,
        _arrow(_of(before, "strategy") or "?", _of(after, "strategy") or "?"),
        _arrow(_of(before, "total") or "0", _of(after, "total") or "0"),
        _arrow(_share(before), _share(after)),
        str(change.held),
    )


def _of(offer: Offer | None, field: str) -> str:
    return "" if offer is None else str(getattr(offer, field))


def _share(offer: Offer | None) -> str:
    return "-" if offer is None or offer.share is None or not offer.total else f"{offer.share} MiB"


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _names(pods: Sequence[LivePod]) -> str:
    shown = ", ".join(f"{one.namespace}/{one.name}" for one in islice(pods, _SHOWN))
    more = f" and {len(pods) - _SHOWN} more" if len(pods) > _SHOWN else ""
    return printable(f"{shown}{more}", 4096)


def _offer_data(offer: Offer | None) -> dict[str, Any] | None:
    if offer is None:
        return None
    return {"strategy": offer.strategy or None, "total": offer.total, "shareMiB": offer.share}


def _verdict_data(change: VerdictChange) -> dict[str, Any]:
    before, after = change.row.outcomes
    return {
        "change": change.turn.name.lower(),
        **row_data(change.row, after),
        "before": outcome_data(before),
        "new": [_finding_data(one) for one in change.new],
        "gone": [_finding_data(one) for one in change.gone],
    }


def _finding_data(finding: Finding) -> dict[str, str]:
    return {"code": finding.code, "severity": finding.severity.label, "path": pointer(finding.path)}


def _unfit_data(one: Unfit) -> dict[str, Any]:
    amounts = (
        {"wantedMiB": one.wanted, "shareMiB": one.left} if one.is_memory else {"held": one.wanted, "total": one.left}
    )
    pods = [{"namespace": pod.namespace, "name": pod.name} for pod in one.pods[:MOST_HOLDERS]]
    return {"node": one.node, "resource": one.resource, **amounts, "pods": pods, "podCount": len(one.pods)}


def _fit_data(one: Fit) -> dict[str, Any]:
    return {
        "object": one.subject.as_data(),
        "wanted": one.wanted,
        "fitting": one.fitting,
        "denied": one.is_denied,
        "nodes": [{"node": node, "count": count} for node, count in one.nodes],
    }
