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
from webhook.diagnose.pods import NODE_SHAPE
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.evaluate import exemption
from webhook.policy.messages import printable
from webhook.policy.pods.pod import Container, Pod
from webhook.policy.pods.quantity import NANO, amount, parse_or_zero
from webhook.policy.pods.reading import MalformedError
from webhook.policy.pods.requests import peak
from webhook.policy.workloads.kinds import group_of
from webhook.report.lines import counted, first

Amounts: TypeAlias = Mapping[str, Mapping[str, int]]
"""Limits and requests in billionths, by these words and by resource."""

_FIELDS: Final = ("limits", "requests")


class Asking(NamedTuple):
    """The pods of a template that ask for GPUs, as the API server stores them: with the defaults of their namespace.

    `containers` are the amounts of each container, `stated` those of a pod as LimitRanges count it, and `amounts` those
    of a pod as the scheduler and quotas count it. `wanted`: how many pods there are to be.
    """

    context: PodContext
    wanted: int
    containers: Sequence[Amounts]
    stated: Amounts
    amounts: Amounts

    @classmethod
    def of(cls, context: PodContext, ranges: Sequence[Object], overheads: Mapping[str, object]) -> Asking:
        pod, count = context.pod, context.extracted.count
        if overhead := overheads.get(pod.text("runtimeClassName")):
            pod = pod.having("overhead", overhead)
        containers, stated = _amounts(pod, ranges)
        for name, peaking in context.requests.peaks.items():  # annotations ask for GPUs as well
            stated["requests"][name] = max(peaking, stated["requests"].get(name, 0))
        amounts = _with_overhead(stated, pod)
        amounts["requests"]["pods"] = NANO
        return cls(context, 1 if count is None else count, containers, stated, amounts)


def _amounts(pod: Pod, ranges: Sequence[Object] = ()) -> tuple[list[Amounts], dict[str, dict[str, int]]]:
    """What each container of a pod asks for, and what the pod asks for as LimitRanges count it: without its overhead.

    An amount of the pod as a whole stands for those of its containers (KEP-2837). A container without an amount adds
    none (kubernetes plugin/pkg/admission/limitranger/admission.go `podRequests`, `podLimits`). Raises MalformedError.
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
        found[field] = {**_parsed(part(whole, "limits")), **peaks, **_parsed(part(whole, field))}
    return containers, found


def _with_overhead(stated: Amounts, pod: Pod) -> dict[str, dict[str, int]]:
    """The amounts with the overhead on top, of limits where there is one (component-helpers resource/helpers.go)."""
    overhead = _parsed(part(pod.spec, "overhead"))
    requests = stated["requests"]
    return {
        "limits": {name: one and one + overhead.get(name, 0) for name, one in stated["limits"].items()},
        "requests": {name: requests.get(name, 0) + overhead.get(name, 0) for name in {**requests, **overhead}},
    }


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
    return {name: max(0, parse_or_zero(value)) for name, value in amounts.items() if isinstance(name, str)}


def _usage(amounts: Amounts) -> Mapping[str, int]:
    """What quotas count of these amounts, by the keys under which they count it.

    Of huge pages and extended resources they count requests alone, and of the latter only under `requests.`
    (kubernetes pkg/quota/v1/evaluator/core/pods.go `podComputeUsageHelper`; see GPS032).
    """
    requests, limits = amounts["requests"], amounts["limits"]
    usage = {f"requests.{name}": one for name, one in requests.items()} | {"count/pods": NANO}
    usage |= {f"limits.{name}": limits[name] for name in ("cpu", "memory", "ephemeral-storage") if name in limits}
    return usage | {name: one for name, one in requests.items() if "/" not in name}


_NEEDED: Final = "cpu memory requests.cpu requests.memory limits.cpu limits.memory".split()
"""What each container states where a quota counts it (kubernetes pkg/quota/v1/evaluator/core/pods.go `Constraints`)."""


def _lacking(item: Object, asking: Asking) -> Iterator[str]:
    """Yield what an entry of a LimitRange finds lacking (`minConstraint` and `maxConstraint` of the LimitRanger)."""
    scope = word(item, "type")
    for each in {"Container": asking.containers, "Pod": [asking.stated]}.get(scope, ()):
        limits, requests, of = each["limits"], each["requests"], f"each {scope.lower()} needs"
        for name, most in part(item, "max").items():
            if max(limits.get(name, inf), requests.get(name, 0)) > parse_or_zero(most):
                yield f"{of} a limit of at most {printable(most)} {printable(name)}"
        for name, least in part(item, "min").items():
            if requests.get(name, -inf) < parse_or_zero(least):
                yield f"{of} at least {printable(least)} {printable(name)}"


_MOST: Final = 10
"""Amounts of quotas that are named: the tightest ones."""


class Bounds:
    """The LimitRanges and ResourceQuotas of a namespace, as the API server applies them to new pods."""

    def __init__(self, ranges: Sequence[Object], quotas: Iterable[Object]) -> None:
        self.ranges = ranges
        self._quotas: list[tuple[str, Object]] = []
        self._notes: list[str] = []
        self._taken: Counter[str] = Counter()
        scoped = []
        for one in quotas:
            name, spec = word(one, "metadata", "name"), part(one, "spec")
            if spec.get("scopes") or spec.get("scopeSelector"):
                scoped.append(name)
            else:
                self._quotas.append((f"ResourceQuota {printable(name)}", one))
        if scoped:
            owners, verb = ("ResourceQuota", "is") if len(scoped) == 1 else ("ResourceQuotas", "are")
            self._notes = [f"{owners} {first(scoped)} {verb} for pods of a scope, and not counted"]

    def admit(self, asking: Asking) -> tuple[int, Sequence[str]]:
        """How many of these pods can be made, and why not all. They count in the quotas, wherever they run."""
        if refusal := next(self._refusals(asking), ""):
            return 0, [refusal]
        admitted, notes, costs = asking.wanted, [], _usage(asking.amounts)
        for owner, quota in self._quotas:
            for key, most in part(quota, "spec", "hard").items():
                cost, taken = costs.get(key, 0), self._taken[key]
                used = part(quota, "status", "used").get(key, "0")
                room = parse_or_zero(most) - parse_or_zero(used) - taken
                if cost and room < cost * admitted:
                    admitted = max(0, room // cost)
                    of = f"{printable(used)} of {printable(most)} {printable(key)} used"
                    of += f", and {amount(taken)} by the pods before these" if taken else ""
                    notes.append(f"{owner} admits {admitted} of {asking.wanted}: {of}")
        self._taken.update({key: cost * admitted for key, cost in costs.items()})
        if more := len(notes[:-_MOST]):
            further = f"{counted(more, 'more amount')} of ResourceQuotas admit fewer than {asking.wanted}"
            notes = [further, *notes[-_MOST:]]
        return admitted, [*self._notes, *notes]

    def _refusals(self, asking: Asking) -> Iterator[str]:
        """Yield why the API server refuses each of these pods."""
        for one in asking.containers:
            for name, limit in one["limits"].items():
                if one["requests"][name] > limit:
                    of = f"a container requests more {printable(name)} than its limit"
                    yield f"the API server refuses them: {of}, or than the default limit of a LimitRange"
        for one in self.ranges:
            for need in (need for item in entries(one, "spec", "limits") for need in _lacking(item, asking)):
                yield f"LimitRange {printable(word(one, 'metadata', 'name'))} refuses them: {need}"
        if any(part(asking.context.pod.spec, "resources", field) for field in _FIELDS):
            return  # then no container needs amounts of its own
        stated = [_usage(one) for one in asking.containers]
        for owner, quota in self._quotas:
            for key in part(quota, "spec", "hard"):
                if key in _NEEDED and any(key not in one for one in stated):
                    yield f"{owner} refuses them: each container needs {key if '.' in key else f'requests.{key}'}"


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
        async for one in all_of(objects, NODE, None, NODE_SHAPE):
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
            read = Pod.of_template(pod)
            for name, billionths in _with_overhead(_amounts(read)[1], read)["requests"].items():
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
        cluster, asked = placement.cluster, +Counter(asking.amounts["requests"])  # without zeros
        left, why = bounds.admit(asking)
        yield from why
        if (scheduler := pod.text("schedulerName")) not in ("", "default-scheduler"):
            yield f"scheduler {printable(scheduler)} may place them in another way"
        served = asked.keys() & cluster.dynamic
        requests = {name: one for name, one in asked.items() if name in gpus or name not in served}
        admitting = placement.selected & cluster.selected_by(placement.class_selector)
        admitting &= ~placement.kept_off[0] & ~placement.kept_off[2]
        chosen = [one.name for one in cluster.index.nodes(admitting & placement.candidates or admitting)]
        nodes = [name for name in chosen if name in self._free]
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
            yield f"no room for {left}: {self._lack(chosen, len(nodes), short)}"
            if priority := pod.text("priorityClassName"):
                yield f"priority {printable(priority)} is not counted: the scheduler may evict pods of lower priority"

    def _lack(self, chosen: Sequence[str], known: int, short: Counter[str]) -> str:
        """Why nodes do not take pods that these nodes and groups admit, of which some are known nodes."""
        if short:
            of = counted(known, "node")
            return first([f"too little {name} on {count} of {of}" for name, count in short.most_common()])
        groups = self._evaluator.snapshot.settings.placement.node_groups
        if admitting := [one.name for one in groups if one.name in chosen]:
            return f"no known node can take them, but declared node groups admit them: {first(admitting)}"
        return "node selectors, affinity or taints keep them off all nodes" if self._free else "no node is known"
