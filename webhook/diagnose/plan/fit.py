"""How many of the pods of manifests fit now, and where: by the free replicas of the nodes that admit them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.evaluation import DEFAULT_NAMESPACE
from webhook.manifests import Manifest
from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator, exemption
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import MalformedError, members, text
from webhook.policy.verdict import Decision
from webhook.policy.workloads.kinds import ExtractedPod, group_of, is_pod
from webhook.report.model import Subject

MOST_WANTED = 1_000_000
"""Pods of one template that are counted."""


class Fit(NamedTuple):
    """The pods of one object: how many it wants, and how many fit on each node. `is_denied`: the webhook denies it."""

    subject: Subject
    wanted: int
    nodes: tuple[tuple[str, int], ...]
    is_denied: bool

    @property
    def fitting(self) -> int:
        return sum(count for _, count in self.nodes)

    @property
    def is_short(self) -> bool:
        return self.is_denied or self.fitting < self.wanted


class Fitter:
    """Places pods, one object after another, on what is free. A pod that asks for no GPU takes nothing and is left out.

    Only GPU resources count: not processors, memory, or how pods keep away from each other.
    """

    def __init__(self, evaluator: Evaluator, held: Mapping[tuple[str, str], int], namespace: str) -> None:
        self._evaluator = evaluator
        self._namespace = namespace
        self._free = {
            (node.name, resource): max(0, amount - held.get((node.name, resource), 0))
            for node in evaluator.snapshot.facts.nodes or ()
            for resource, amount in node.resources.items()
        }

    def fits(self, manifests: Iterable[Manifest | Diagnostic]) -> Iterator[Fit]:
        """Yield the objects that ask for GPUs. Raises InputError."""
        for one in manifests:
            if isinstance(one, Diagnostic):
                raise InputError([one])
            try:
                found = self._fit(one)
            except MalformedError as error:
                raise InputError([one.diagnostic(error.path, str(error))]) from None
            if found is not None:
                yield found

    def _fit(self, manifest: Manifest) -> Fit | None:
        value = manifest.value
        metadata = members(value, "metadata", ())
        own, name, stem = (text(metadata, key, ("metadata",)) for key in ("namespace", "name", "generateName"))
        namespace = own or manifest.namespace or self._namespace or DEFAULT_NAMESPACE
        version, kind = text(value, "apiVersion", ()), text(value, "kind", ())
        group, evaluator = group_of(version), self._evaluator
        origin = RequestContext(namespace, is_final_hook=not is_pod(group, kind), groups=())
        pods = evaluator.pods(value, group, kind)
        placed: dict[str, int] = {}
        wanted = sum(self._place(one, origin, placed) for one in pods)
        if not wanted:
            return None
        is_denied = evaluator.verdict(pods, origin).decision is Decision.DENIED
        nodes = () if is_denied else tuple(sorted(placed.items()))
        return Fit(Subject(version, kind, namespace, name or stem), wanted, nodes, is_denied)

    def _place(self, extracted: ExtractedPod, origin: RequestContext, placed: dict[str, int]) -> int:
        """Place the pods of a template, and return how many it wants; 0 for pods without GPUs."""
        context = self._evaluator.context(extracted, origin)
        peaks = {name: -(-peak // NANO) for name, peak in context.requests.peaks.items()}
        if not peaks or exemption(context) is not None:
            return 0
        count = extracted.count
        left = wanted = min(1 if count is None else count, MOST_WANTED)
        placement = context.placement
        for node in placement.cluster.index.nodes(placement.candidates):
            room = min(self._free.get((node.name, name), 0) // amount for name, amount in peaks.items())
            taken = min(left, room)
            if taken:
                placed[node.name] = placed.get(node.name, 0) + taken
                left -= taken
                for name, amount in peaks.items():
                    self._free[node.name, name] -= taken * amount
        return wanted
