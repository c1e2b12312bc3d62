"""How many of the pods of manifests fit now, and where: by LimitRanges and quotas, and by what nodes have left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.cluster.objects import LIMIT_RANGE, NODE, QUOTA, RUNTIME_CLASS, Object, Objects, all_of
from webhook.cluster.reading import entries, part, word
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.evaluate import exemption
from webhook.policy.pods.pod import Container, Pod
from webhook.policy.pods.quantity import NANO, parse_or_zero
from webhook.policy.pods.reading import MalformedError
from webhook.policy.pods.requests import peak
from webhook.policy.workloads.kinds import group_of
from webhook.report.lines import counted, first

Amounts: TypeAlias = Mapping[str, Mapping[str, int]]
"""Limits and requests in billionths, by these words and by resource."""

_FIELDS: Final = ("limits", "requests")


class Asking(NamedTuple):
    """The pods of a template that ask for GPUs, as the API server stores them: with the defaults of their namespace.

    `amounts` are those of a pod, `containers` those of each of its containers. `wanted`: how many pods there are to be.
    """

    context: PodContext
    wanted: int
    amounts: Amounts
    containers: Sequence[Amounts]

    @classmethod
    def of(cls, context: PodContext, ranges: Sequence[Object], overheads: Mapping[str, object]) -> Asking:
        pod, count = context.pod, context.extracted.count
        if overhead := overheads.get(pod.text("runtimeClassName")):
            pod = pod.having("overhead", overhead)
        amounts, containers = _amounts(pod, ranges)
        amounts["requests"] |= Counter(context.requests.peaks)  # annotations ask for GPUs as well
        amounts["requests"]["pods"] = NANO
        return cls(context, 1 if count is None else count, amounts, containers)


def _amounts(pod: Pod, ranges: Sequence[Object] = ()) -> tuple[dict[str, Counter[str]], list[Amounts]]:
    """What a pod asks for as the scheduler and quotas count it, and what each of its containers asks for.

    An amount of the pod as a whole stands for those of its containers, and the overhead comes on top
    (k8s.io/component-helpers resource/helpers.go, KEP-2837). Raises MalformedError.
    """
    every = list(pod.every_container())
    containers = [_completed(one, ranges) for one in every]
    found, whole = {}, part(pod.spec, "resources")
    for field in _FIELDS:
        amounts: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for one, asked in zip(every, containers, strict=True):
            for name, billionths in asked[field].items():
                amounts[name].append((one.kind, billionths))
        peaks = {name: peak(own) for name, own in amounts.items()}
        stated = {**_parsed(part(whole, "limits")), **peaks, **_parsed(part(whole, field))}
        found[field] = Counter(stated) + Counter(_parsed(part(pod.spec, "overhead")))
    return found, containers


def _completed(container: Container, ranges: Sequence[Object]) -> Amounts:
    """What a container asks for with the defaults of LimitRanges.

    The API server also completes the LimitRanges (kubernetes pkg/apis/core/v1/defaults.go).
    """
    limits, requests = container.limits, {**container.limits, **container.requests}
    for item in (item for one in ranges for item in entries(one, "spec", "limits") if item.get("type") == "Container"):
        default = {**part(item, "max"), **part(item, "default")}
        limits = {**default, **limits}
        requests = {**part(item, "min"), **default, **part(item, "defaultRequest"), **requests}
    return {"limits": _parsed(limits), "requests": _parsed(requests)}


def _parsed(amounts: Mapping[str, object]) -> dict[str, int]:
    return {name: parse_or_zero(value) for name, value in amounts.items()}


_STATED: Final = ("cpu", "memory")
"""What each container states where a quota counts it (kubernetes pkg/quota/v1/evaluator/core/pods.go `Constraints`)."""


class Bounds:
    """The LimitRanges and ResourceQuotas of a namespace, as the API server applies them to new pods."""

    def __init__(self, ranges: Sequence[Object], quotas: Iterable[Object]) -> None:
        self.ranges = ranges
        self._quotas: dict[str, Object] = {}
        self._notes: list[str] = []
        self._taken: Counter[tuple[str, str]] = Counter()
        for one in quotas:
            owner, spec = f"ResourceQuota {word(one, 'metadata', 'name')}", part(one, "spec")
            if spec.get("scopes") or spec.get("scopeSelector"):
                self._notes.append(f"{owner} is for pods of a scope, and not counted")
            else:
                self._quotas[owner] = one

    def admit(self, asking: Asking) -> tuple[int, Sequence[str]]:
        """How many of these pods can be made, and why not all. They count in the quotas, wherever they run."""
        if refusal := next(self._refusals(asking), ""):
            return 0, [refusal]
        admitted, notes = asking.wanted, [*self._notes]
        costs: dict[tuple[str, str], int] = {}
        for owner, quota in self._quotas.items():
            for key, most in part(quota, "spec", "hard").items():
                what = field, name = _counted(key)
                costs[what] = cost = asking.amounts[field].get(name, 0)
                used = part(quota, "status", "used").get(key, "0")
                room = parse_or_zero(most) - parse_or_zero(used) - self._taken[what]
                if cost and room < cost * admitted:
                    admitted = max(0, room // cost)
                    notes.append(f"{owner} admits {admitted} of {asking.wanted}: {used} of {most} {key} used")
        self._taken.update({what: cost * admitted for what, cost in costs.items()})
        return admitted, notes

    def _refusals(self, asking: Asking) -> Iterator[str]:
        """Yield why the API server refuses each of these pods."""
        for one in self.ranges:
            owner = f"LimitRange {word(one, 'metadata', 'name')}"
            for item in entries(one, "spec", "limits"):
                scope = word(item, "type")
                for each in {"Container": asking.containers, "Pod": [asking.amounts]}.get(scope, ()):
                    for name, most in part(item, "max").items():
                        if max(each["limits"].get(name, inf), each["requests"].get(name, 0)) > parse_or_zero(most):
                            yield f"{owner} refuses them: each {scope.lower()} needs a limit of at most {most} {name}"
                    for name, least in part(item, "min").items():
                        if each["requests"].get(name, 0) < parse_or_zero(least):
                            yield f"{owner} refuses them: each {scope.lower()} needs at least {least} {name}"
        for owner, quota in self._quotas.items():
            for field, name in map(_counted, part(quota, "spec", "hard")):
                is_stated = name in part(asking.context.pod.spec, "resources", field)
                if name in _STATED and not is_stated and any(name not in one[field] for one in asking.containers):
                    yield f"{owner} refuses them: each container needs {field}.{name}"


def _counted(key: str) -> tuple[str, str]:
    """The field and the resource that an entry of a quota counts; the number of pods is a request for `pods`."""
    field = "limits" if key.startswith("limits.") else "requests"
    return field, key.removeprefix(f"{field}.").removeprefix("count/")


class Fitter:
    """Places pods, one object after another, on what is free. A pod that asks for no GPU takes nothing and is left out.

    How pods keep away from each other, volumes, host ports and evictions by priority do not count.
    """

    def __init__(self, evaluator: OfflineEvaluator) -> None:
        self._evaluator = evaluator
        self._demands: list[tuple[Evaluated, Bounds, list[Asking]]] = []
        self._free: dict[str, dict[str, int]] = {}

    async def read(self, objects: Objects, manifests: Sequence[Manifest | Diagnostic], namespace: str) -> None:
        """Read what bounds the pods of manifests, and what nodes offer of all that they ask for.

        Raises InputError for the manifests.
        """
        demands = list(self._asking(manifests, namespace))
        if not demands:
            return
        classes = all_of(objects, RUNTIME_CLASS)
        overheads = {word(one, "metadata", "name"): part(one, "overhead", "podFixed") async for one in classes}
        bounds = {}
        for place in sorted({found.namespace for found, _ in demands}):
            ranges, quotas = [[one async for one in all_of(objects, kind, place)] for kind in (LIMIT_RANGE, QUOTA)]
            bounds[place] = Bounds(ranges, quotas)
        for found, contexts in demands:
            own = bounds[found.namespace]
            self._demands.append((found, own, [Asking.of(one, own.ranges, overheads) for one in contexts]))
        names = {name for *_, asking in self._demands for one in asking for name in one.amounts["requests"]}
        known = {node.name: node for node in self._evaluator.snapshot.facts.nodes or ()}
        if not known:
            return
        async for one in all_of(objects, NODE):
            if (node := known.get(word(one, "metadata", "name"))) is not None:
                offered = _parsed(part(one, "status", "allocatable"))
                offered |= {name: units * NANO for name, units in node.resources.items()}
                self._free[node.name] = {name: offered.get(name, 0) for name in names}

    def _asking(
        self, manifests: Iterable[Manifest | Diagnostic], namespace: str
    ) -> Iterator[tuple[Evaluated, list[PodContext]]]:
        origin = partial(RequestContext, groups=())
        for one in manifests:
            found = evaluate(one, self._evaluator, namespace, origin) if isinstance(one, Manifest) else one
            if isinstance(found, Diagnostic):
                raise InputError([found])
            pods = self._evaluator.pods(found.manifest.value, group_of(found.subject.api_version), found.subject.kind)
            contexts = (self._evaluator.context(each, origin(found.namespace)) for each in pods)
            if asking := [each for each in contexts if each.requests.peaks and exemption(each) is None]:
                yield found, asking

    def hold(self, node: str, pod: Object) -> None:
        """Take what a pod on a node requests from what is free there."""
        free = self._free.get(node)
        if free is None:
            return
        free["pods"] -= NANO
        with suppress(MalformedError):
            for name, billionths in _amounts(Pod.of_template(pod))[0]["requests"].items():
                if name in free:
                    free[name] -= billionths

    def fits(self) -> Iterator[dict[str, Any]]:
        """Yield the objects that ask for GPUs, with how many pods they want and how many fit."""
        for found, bounds, asking in self._demands:
            placed: Counter[str] = Counter()
            placing = [] if found.is_denied else asking
            notes = dict.fromkeys(note for one in placing for note in self._place(one, bounds, placed))
            if wanted := sum(one.wanted for one in asking):
                yield {
                    "object": found.subject.as_data(),
                    "wanted": wanted,
                    "fitting": placed.total(),
                    "denied": found.is_denied,
                    "notes": list(notes),
                    "nodes": [{"node": name, "count": count} for name, count in sorted(placed.items())],
                }

    def _place(self, asking: Asking, bounds: Bounds, placed: Counter[str]) -> Iterator[str]:
        """Place the pods of a template. Yield why not all of them fit, and what may place them in another way."""
        pod, placement, gpus = asking.context.pod, asking.context.placement, asking.context.requests.peaks
        cluster, requests = placement.cluster, asking.amounts["requests"]
        left, why = bounds.admit(asking)
        yield from why
        if (scheduler := pod.text("schedulerName")) not in ("", "default-scheduler"):
            yield f"scheduler {scheduler} may place them in another way"
        served = requests.keys() & cluster.dynamic
        requests = {name: one for name, one in requests.items() if name in gpus or name not in served}
        admitting = placement.selected & cluster.selected_by(placement.class_selector)
        admitting &= ~placement.kept_off[0] & ~placement.kept_off[2]
        chosen = cluster.index.nodes(admitting & placement.candidates or admitting)
        nodes = [one.name for one in chosen if one.name in self._free]
        short: Counter[str] = Counter()
        for node in nodes:
            if not left:
                break
            free = self._free[node]
            if taken := max(0, min(left, *(free[name] // one for name, one in requests.items()))):
                left -= taken
                placed[node] += taken
                for name, one in requests.items():
                    free[name] -= taken * one
            short.update(name for name, one in requests.items() if free[name] < one)
        if uncounted := sorted(served if left else served - gpus.keys()):
            yield f"devices of DeviceClasses are not counted: {first(uncounted)}"
        if left:
            of = counted(len(nodes), "node")
            lacking = [f"too little {name} on {count} of {of}" for name, count in short.most_common()]
            if not lacking:
                lacking = [
                    "node selectors, affinity or taints keep them off all nodes" if self._free else "no node is known"
                ]
            yield f"no room for {left}: {first(lacking)}"
            if priority := pod.text("priorityClassName"):
                yield f"priority {priority} is not counted: the scheduler may evict pods of lower priority"
