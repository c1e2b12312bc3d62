"""Pods for which the scheduler finds no node: facts about nodes and holders decide, else the scheduler's message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from webhook.live.pods import Holding
from webhook.live.why.case import Case, amounts
from webhook.live.why.cause import Cause
from webhook.live.why.event import first
from webhook.live.why.pod_state import is_unscheduled
from webhook.live.why.reading import condition, entries, word
from webhook.live.why.scheduler_message import ORDER, Reason, reasons
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.nearest import (
    Apart,
    Elsewhere,
    Failure,
    NearestNode,
    Passing,
    Shortfall,
    Stopped,
    Unmet,
    Untolerated,
)
from webhook.policy.placement.reachability import Placement
from webhook.policy.placement.selector import Expression
from webhook.policy.pods.gpu_resources import KnownNames, is_listed_by_nodes
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import MalformedError

_SHOWN: Final = 5
"""Nodes, and holders of a node, that the evidence names."""

_FAILED: Final = ("FailedScheduling", "Unschedulable", "NotTriggerScaleUp")


_CONTROL_PLANE: Final = "{node-role.kubernetes.io/"
"""The taints of nodes on which no pod of users runs."""

_ByNode = Mapping[tuple[str, str], Sequence[Holding]]


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which a pod has no node."""
    pod = case.pod
    if pod is None or not is_unscheduled(pod) or entries(pod, "spec", "schedulingGates"):
        return
    said = _said(case)
    if not said and not condition(pod, "PodScheduled"):
        yield _unseen(case)
        return
    listed = reasons(said)
    whole = [one for one in listed if one.cause in ("volume", "resource-claim") and not one.nodes]
    if whole:  # the scheduler looks at no node before they are met
        yield from _by_message(case, whole, said)
        return
    own = list(_by_facts(case, said))
    yield from own
    if not own:
        yield from _by_message(case, listed, said)


def _said(case: Case) -> str:
    """What the scheduler says about the pod."""
    scheduled = condition(case.pod or {}, "PodScheduled")
    if scheduled.get("status") == "False" and (message := word(scheduled, "message")):
        return message
    found = first(case.events, _FAILED)
    return found.message if found is not None else ""


def _unseen(case: Case) -> Cause:
    name = word(case.pod, "spec", "schedulerName") or "default-scheduler"
    claims = [
        word(one, "resourceClaimName") or word(one, "resourceClaimTemplateName")
        for one in entries(case.pod, "spec", "resourceClaims")
    ]
    if name == "default-scheduler" and claims:  # it queues no pod before its claims exist (plugin DynamicResources)
        summary = f"the scheduler waits until the pod's resource claims exist: {', '.join(claims[:_SHOWN])}"
        return Cause("resource-claim", summary, (), f"kubectl get resourceclaims -n {case.namespace}")
    if name == "default-scheduler":
        remedy = "kubectl -n kube-system get pods -l component=kube-scheduler"
    else:
        remedy = f"install the scheduler {name}, or remove schedulerName: {case.edit}"
    evidence = [f"spec.schedulerName is {name}", "the pod has no condition PodScheduled and no event of a scheduler"]
    return Cause("no-scheduler", f"the scheduler {name} has not looked at the pod; does it run?", evidence, remedy)


def _by_facts(case: Case, said: str) -> Iterator[Cause]:
    """The causes that the nodes and the holders of their replicas show; none where they show none."""
    yield from _not_offered(case, said)
    context = case.around.context
    if context is None or case.around.facts.nodes is None or not context.requests.positive:
        return
    placement = context.placement
    cluster = placement.cluster
    if not cluster.index.offered.issuperset(placement.requests.peaks):
        return
    try:
        candidates = list(cluster.index.nodes(placement.candidates))
        failure = None if candidates else NearestNode(placement).failure()
    except MalformedError:
        return
    if failure is not None:
        yield _of_failure(case, placement, failure, said)
    elif candidates:
        held = _held(case, placement, candidates, said)
        if held is not None:
            yield held


def _not_offered(case: Case, said: str) -> Iterator[Cause]:
    """A cause for each resource in NVIDIA's domain, or of the settings, that no node lists."""
    facts, context = case.around.facts, case.around.context
    if case.pod is None or facts.nodes is None:
        return
    offered = {name for node in facts.nodes for name in node.resources}
    dynamic = () if context is None else context.placement.cluster.dynamic
    known = {one.name for one in case.settings.resources}
    for name in dict.fromkeys(name for _, name, _ in amounts(case.pod)):
        if name in offered or name in dynamic or not (name in known or is_listed_by_nodes(name)):
            continue
        meant = KnownNames({*known, *offered}).meant_by(name)
        there = sorted(one for one in offered if one.startswith("nvidia.com/"))
        evidence = [f"nodes offer {', '.join(there[:_SHOWN])}" if there else "no node lists a GPU resource"]
        if meant is not None and meant in offered:
            remedy = f"ask for {meant}: {case.edit}"
        elif there and name in known:
            remedy = f"ask for {there[0]}: {case.edit}"
        else:
            remedy = "kubectl gpushare doctor, which finds out why the device plugin does not offer it"
        yield Cause("resource-not-offered", f"no node offers {name}", [*evidence, *_quoted(said)], remedy)


def _quoted(said: str) -> Sequence[str]:
    return [f"scheduler: {said}"] if said else []


def _of_failure(case: Case, placement: Placement, failure: Failure, said: str) -> Cause:
    """The cause for what a pod fails at the nearest node."""
    quoted = _quoted(said)
    match failure:
        case Passing(node, taint):
            summary = f"the nearest node, {node.name}, does not take pods now: it has the taint {_taint(taint)}"
            is_cordoned = taint.key == "node.kubernetes.io/unschedulable"
            remedy = f"kubectl uncordon {node.name}" if is_cordoned else f"kubectl describe node {node.name}"
            return Cause("node-not-ready", summary, quoted, remedy)
        case Stopped(node, resource):
            summary = f"the nearest node, {node.name}, offers 0 of {resource} now: its device plugin does not run"
            return Cause("resource-not-ready", summary, quoted, "kubectl gpushare doctor")
        case Shortfall(node, resource, offered):
            asked = -(-placement.requests.peaks[resource] // NANO)
            summary = f"the pod asks for {asked} of {resource}; the nearest node, {node.name}, offers {offered}"
            remedy = f"ask for at most {offered}: {case.edit}"
            return Cause("amount-too-large", summary, quoted, remedy)
        case Untolerated(node, taint):
            summary = f"the nearest node, {node.name}, has the taint {_taint(taint)}, which the pod does not tolerate"
            remedy = f"if the node is meant for such pods, tolerate it: {case.edit}"
            return Cause("taint", summary, quoted, remedy)
        case Unmet(node, expression):
            return _unmet(case, node, expression, quoted)
        case Elsewhere(resource) | Apart(resource):
            summary = f"no node offers {resource} together with the rest that the pod requires"
            return Cause("resource-not-offered", summary, quoted, f"{case.edit}")
        case _:
            summary = "node selector or affinity excludes each node that offers the pod's GPUs"
            return Cause("node-selector", summary, quoted, f"{case.edit}")


def _taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _unmet(case: Case, node: Node, expression: Expression, quoted: Sequence[str]) -> Cause:
    held = expression.held_by(node)
    has = f"has {expression.name}={held}" if held is not None else f"lacks the label {expression.name}"
    place = "node selector" if expression.is_selector else "node affinity"
    summary = f"the {place} requires {expression}, and the nearest node that offers the GPUs, {node.name}, {has}"
    remedy = f"change {expression.name} in the {place}: {case.edit}"
    return Cause("node-selector", summary, quoted, remedy)


def _held(case: Case, placement: Placement, candidates: Sequence[Node], said: str) -> Cause | None:
    """The cause if others hold what the pod asks for on each node that could take it; None otherwise.

    Without all holders, the scheduler's word that a resource is insufficient decides.
    """
    held = case.around.held
    by_node: _ByNode = {} if held is None else held.by_node
    peaks = {name: -(-peak // NANO) for name, peak in placement.requests.peaks.items()}
    lacking = [one.resource for one in reasons(said) if one.resource in peaks]
    free = next((node for node in candidates if _has_room(node, peaks, by_node)), None)
    if free is not None and not lacking:
        return None
    if free is not None and held is not None and held.is_complete:
        return None if _other_reason(said) else _free_again(free, lacking[0], said)
    resource = next(iter(lacking or peaks))
    total = sum(node.resources.get(resource, 0) for node in candidates)
    nodes = "the only node" if len(candidates) == 1 else f"each of the {len(candidates)} nodes"
    summary = f"others hold the replicas of {resource} on {nodes} that could take the pod: {total} in all"
    evidence = [_holders(node, resource, by_node) for node in islice(candidates, _SHOWN)]
    remedy = "wait, or free replicas: kubectl gpushare top -A shows who holds them"
    return Cause("replicas-held", summary, [*evidence, *_quoted(said)], remedy)


def _free_again(node: Node, resource: str, said: str) -> Cause:
    summary = f"replicas of {resource} were held when the scheduler looked last; node {node.name} has room now"
    return Cause("replicas-held", summary, _quoted(said), "wait: the scheduler tries again")


def _has_room(node: Node, peaks: Mapping[str, int], by_node: _ByNode) -> bool:
    return all(
        node.resources.get(name, 0) - sum(one.amount for one in by_node.get((node.name, name), ())) >= peak
        for name, peak in peaks.items()
    )


def _other_reason(said: str) -> bool:
    """Whether the scheduler names a reason besides resources, selectors and taints, which any node may have."""
    return any(one.cause and one.cause not in ("node-selector", "taint", "node-not-ready") for one in reasons(said))


def _holders(node: Node, resource: str, by_node: _ByNode) -> str:
    total, holders = node.resources.get(resource, 0), by_node.get((node.name, resource), ())
    if not holders:
        return f"node {node.name} offers {total}; its holders are not known"
    names = [f"{one.pod.namespace}/{one.pod.name} ({one.amount})" for one in islice(holders, _SHOWN)]
    more = f" and {len(holders) - len(names)} more" if len(holders) > len(names) else ""
    count = sum(one.amount for one in holders)
    return f"node {node.name}: {count} of {total} held by {', '.join(names)}{more}"


_SUMMARIES: Final = {
    "volume": "a volume of the pod is not available",
    "resource-claim": "a resource claim of the pod is not met",
    "host-port": "the nodes that could take the pod use its host port already",
    "pod-affinity": "affinity to other pods, or the spread over nodes, excludes each node that could take the pod",
    "other-resources": "the nodes that could take the pod lack something besides GPUs",
    "node-not-ready": "nodes do not take pods now",
    "node-selector": "node selector or affinity excludes nodes",
    "taint": "nodes have taints that the pod does not tolerate",
}
_NEXT: Final = {
    "volume": "kubectl get pvc -n {namespace}",
    "resource-claim": "kubectl get resourceclaims -n {namespace}",
    "host-port": "remove hostPort, or use a Service: {edit}",
    "pod-affinity": "change podAntiAffinity or topologySpreadConstraints: {edit}",
    "other-resources": "lower the requests: {edit}",
    "node-not-ready": "kubectl get nodes",
    "node-selector": "change nodeSelector or affinity: {edit}",
    "taint": "add a toleration: {edit}",
}


def _by_message(case: Case, listed: Sequence[Reason], said: str) -> Iterator[Cause]:
    """The causes that the scheduler's message names, the weightiest first."""
    extended = [one for one in listed if one.resource and not one.cause]
    has_facts = case.around.context is not None and case.around.facts.nodes is not None
    if extended and not has_facts:
        names = ", ".join(dict.fromkeys(one.resource for one in extended))
        summary = f"no node has as much of {names} free as the pod asks for"
        yield Cause("replicas-held", summary, _quoted(said), "kubectl gpushare top -A shows who holds replicas")
    more = any(_CONTROL_PLANE not in one.text for one in listed)
    found = False
    for cause in ORDER:
        texts = [one.text for one in listed if one.cause == cause and not (_CONTROL_PLANE in one.text and more)]
        if not texts:
            continue
        if found and cause in ("node-not-ready", "node-selector", "taint"):
            continue  # nodes without GPUs have them as well
        found = True
        remedy = _NEXT[cause].format(namespace=case.namespace, edit=case.edit)
        yield Cause(cause, f"{_SUMMARIES[cause]}: {'; '.join(texts[:_SHOWN])}", _quoted(said), remedy)
    if not found and not extended:
        yield Cause("other-resources", "the scheduler finds no node", _quoted(said), _describe(case))


def _describe(case: Case) -> str:
    return f"kubectl describe pod {case.pod_name} -n {case.namespace}"
