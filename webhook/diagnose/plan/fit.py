"""How many of the pods of manifests fit now, and where: by the free replicas of the nodes that admit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from webhook.cluster.reading import Object, word
from webhook.diagnose.pods import extended
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.evaluation import evaluate
from webhook.dryrun.evidence import namespace_limits
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest
from webhook.policy.context import RequestContext
from webhook.policy.evaluate import exemption
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.workloads.kinds import ExtractedPod, group_of


class Fitter:
    """Places pods, one object after another, on what is free. A pod that asks for no GPU takes nothing and is left out.

    Extended resources and `ranges`, the LimitRanges, alone count: not processors, memory, or how pods keep away from
    each other.
    """

    def __init__(
        self,
        evaluator: OfflineEvaluator,
        held: Mapping[tuple[str, str], int],
        namespace: str,
        ranges: Sequence[Object] = (),
    ) -> None:
        self._evaluator = evaluator
        self._namespace = namespace
        self._limits = [
            limit
            for one in ranges
            for limit in namespace_limits({**one, "kind": "LimitRange"}, word(one, "metadata", "namespace"))
        ]
        self._free = {
            (node.name, resource): max(0, amount - held.get((node.name, resource), 0))
            for node in evaluator.snapshot.facts.nodes or ()
            for resource, amount in node.resources.items()
        }

    def fits(self, manifests: Iterable[Manifest | Diagnostic]) -> Iterator[dict[str, Any]]:
        """Yield the objects that ask for GPUs, with how many pods they want and how many fit. Raises InputError."""
        origin = partial(RequestContext, groups=())
        for one in manifests:
            found = evaluate(one, self._evaluator, self._namespace, origin) if isinstance(one, Manifest) else one
            if isinstance(found, Diagnostic):
                raise InputError([found])
            subject = found.subject
            pods = self._evaluator.pods(found.manifest.value, group_of(subject.api_version), subject.kind)
            placed: Counter[str] = Counter()
            notes: dict[str, None] = {}
            if wanted := sum(self._place(each, origin(found.namespace), placed, notes) for each in pods):
                nodes = {} if found.is_denied else placed
                yield {
                    "object": subject.as_data(),
                    "wanted": wanted,
                    "fitting": sum(nodes.values()),
                    "denied": found.is_denied,
                    "notes": list(notes),
                    "nodes": [{"node": name, "count": count} for name, count in sorted(nodes.items())],
                }

    def _place(
        self, extracted: ExtractedPod, origin: RequestContext, placed: Counter[str], notes: dict[str, None]
    ) -> int:
        """Place the pods of a template, and return how many it wants; 0 for pods without GPUs."""
        context = self._evaluator.context(extracted, origin)
        if not context.requests.peaks or exemption(context) is not None:
            return 0
        cluster, candidates = context.placement.cluster, context.placement.candidates
        beside = GpuRequests(context.pod, lambda name: None if name in cluster.dynamic else extended(name))
        if refusing := self._refusing(beside, origin.namespace):
            notes[f"{refusing} refuses them"] = None
            candidates = 0
        if (scheduler := context.pod.text("schedulerName")) not in ("", "default-scheduler"):
            notes[f"scheduler {scheduler} may place them in another way"] = None
        peaks = {**beside.peaks, **context.requests.peaks}
        amounts = {name: -(-one // NANO) for name, one in peaks.items()}
        wanted = left = 1 if extracted.count is None else extracted.count
        for node in cluster.index.nodes(candidates):
            taken = min(left, *(self._free.get((node.name, name), 0) // one for name, one in amounts.items()))
            if taken:
                left -= taken
                placed[node.name] += taken
                for name, amount in amounts.items():
                    self._free[node.name, name] -= taken * amount
        return wanted

    def _refusing(self, requests: GpuRequests, namespace: str) -> str:
        """The LimitRange whose maximum a pod exceeds; empty without one."""
        ordered = sorted(requests.positive, key=lambda one: one.billionths)
        asked = {"pod": requests.peaks, "container": {one.resource.name: one.billionths for one in ordered}}
        for limit in self._limits:
            if limit.namespace == namespace and asked[limit.per].get(limit.resource, 0) > limit.most * NANO:
                return limit.owner
        return ""
