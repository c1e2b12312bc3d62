"""Pods for which the scheduler finds no node: the chain of the nodes that they select decides, and who holds replicas.

The scheduler's message decides where nodes and holders show nothing. It reads "0/3 nodes are available: 1 Insufficient
cpu, 2 node(s) had untolerated taint {team: research}. preemption: …" (kubernetes pkg/scheduler/framework/types.go
`FitError`). Its words differ between versions, so that a text which is not known belongs to no cause.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from webhook.cluster.reading import condition, entries, part, word
from webhook.cluster.stack import SeenNode, is_discovered
from webhook.diagnose.chain import SHOWN
from webhook.diagnose.finding import Finding, Remedy, named, reference, within
from webhook.diagnose.pods import Holding, LivePod, extended, requests_of
from webhook.diagnose.sharing import CORDONED, replicas_of, strategy_of
from webhook.diagnose.why.case import Case, Row
from webhook.diagnose.why.state import is_gated, is_unscheduled, keeps_old, name_of, owner_of, wanted
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.nearest import (
    Bare,
    Failure,
    NoCommonNode,
    PluginDown,
    Shortfall,
    TransientTaint,
    Unmet,
    Untolerated,
    WrongNodeName,
    described,
    nearest_failure,
    offered_instead,
)
from webhook.policy.placement.node_classes import RENAMED, REPLICAS, SHARING
from webhook.policy.placement.platforms import EKS_ACCELERATOR, EKS_NODE_GROUP
from webhook.policy.placement.reachability import Placement
from webhook.policy.placement.selector import is_lifecycle
from webhook.policy.pods.gpu_resources import KnownNames, names_gpu
from webhook.policy.pods.reading import MalformedError


def causes(case: Case) -> Iterator[Finding]:
    """The causes for which a pod has no node, each with what the scheduler says as its last evidence."""
    pod = case.pod
    if not pod or not is_unscheduled(pod) or is_gated(pod):
        return
    said = _said(case)
    if not said and not condition(pod, "PodScheduled"):
        yield _unseen(case)
        return
    listed = reasons(said)
    # The scheduler looks at no node before these are met.
    whole = [one for one in listed if one.cause in ("volume", "resource-claim") and not one.nodes]
    found = [] if whole else list(_by_facts(case, listed))
    for one in found or _by_message(case, whole or listed):
        yield replace(one, evidence=(*one.evidence, f"scheduler: {said}" if said else ""))


def _said(case: Case) -> str:
    """What the scheduler says about the pod."""
    scheduled = condition(case.pod, "PodScheduled")
    if scheduled.get("status") == "False" and (message := word(scheduled, "message")):
        return message
    return case.event("FailedScheduling", "Unschedulable", "NotTriggerScaleUp").message


def _unseen(case: Case) -> Finding:
    name = word(case.pod, "spec", "schedulerName") or "default-scheduler"
    claims = [
        word(one, "resourceClaimName") or word(one, "resourceClaimTemplateName")
        for one in entries(case.pod, "spec", "resourceClaims")
    ]
    if name == "default-scheduler" and claims:  # it queues no pod before its claims exist (plugin DynamicResources)
        summary = f"the scheduler waits until the pod's resource claims exist: {', '.join(claims[:SHOWN])}"
        return case.cause("resource-claim", summary, (), "`kubectl get resourceclaims {ns}`")
    remedy = "install the scheduler {scheduler}, or remove schedulerName: {edit}"
    if name == "default-scheduler":
        remedy = "`kubectl -n kube-system get pods -l component=kube-scheduler`"
    evidence = [f"spec.schedulerName is {name}", "the pod has no condition PodScheduled and no event of a scheduler"]
    summary = f"the scheduler {name} has not looked at the pod; does it run?"
    return case.cause("no-scheduler", summary, evidence, remedy, scheduler=name)


def _by_facts(case: Case, listed: Sequence[Reason]) -> Iterator[Finding]:
    """The causes that the nodes and the holders of their replicas show; none where they show none."""
    context = case.context
    if context is None:  # nodes are not known
        return
    placement, index = context.placement, context.placement.cluster.index
    wants = requests_of(case.pod, extended)
    absent = [cause for name in wants if (cause := _absent(case, placement, name)) is not None]
    yield from absent
    if absent or not context.requests.positive or not all(map(index.offers, placement.requests.peaks)):
        return
    try:
        candidates = list(index.nodes(placement.candidates))
        failure = None if candidates else nearest_failure(placement)
    except MalformedError:
        return
    if failure is not None:
        yield _of_failure(case, placement, failure)
    elif candidates:
        cause = _beside(case, candidates, wants, listed) or _held(case, candidates, wants, listed)
        if cause is not None:
            yield cause


# Resources that no node offers.


def _absent(case: Case, placement: Placement, name: str) -> Finding | None:
    """The cause if no node offers a GPU resource of this name; None for another resource."""
    cluster, chains = placement.cluster, case.chains
    if name in cluster.dynamic or cluster.index.offers(name) or not names_gpu(name, cluster.classes.gpus):
        return None
    gpus = [one for one in cluster.index.offered if names_gpu(one, cluster.classes.gpus)]
    offered = sorted(one for one in gpus if cluster.index.offering(one, 1))
    summary = f"no node offers {name}"
    evidence = [f"nodes offer {', '.join(offered[:SHOWN])}" if offered else "no node offers a GPU"]
    meant = KnownNames({*(one.name for one in case.settings.resources), *offered}).meant_by(name)
    for chain in chains if meant is None else ():
        if (broken := chain.broken) is not None:
            if offered and broken.finding not in _OF_CONFIGURATION:
                break
            return _of_chain(case, chain.node, broken, "resource-not-offered", summary, evidence)
    names = {"node": chains[0].node.name if chains else ""}
    if offered:
        selected = offered_instead(cluster, name, placement.selected)
        other = (meant if meant in offered else selected or offered_instead(cluster, name)) or ""
        names["resource"], remedy = other, "ask for {resource}: {edit}"
        if name == f"{other}{RENAMED}" and (whole := _whole(placement, other)) is not None:
            summary += f": node {whole.name} offers {whole.resources[other]} of {other}, and no configuration that "
            summary += "shares cards under a name of their own has reached its device plugin"
            names["node"] = whole.name
            share = "let its device plugin read a configuration with renameByDefault: true, or take a whole card: "
            remedy = share + remedy + (f"; {_ask_again(case)}" if chains and chains[0].is_unclear else "")
    elif not chains:
        summary += ", and no label of a node that its selectors admit shows a GPU"
        remedy = "add nodes with GPUs and NVIDIA's device plugin, or correct the selectors: {edit}"
    else:
        node = chains[0].node
        how, remedy = "is a program of the host" if node.runs_stack_itself else "runs", _DESCRIBE
        if chains[0].is_unclear:
            how, remedy = "does not run there, or not yet", _ask_again(case)
            if name.endswith(RENAMED) and not is_discovered(node):
                how = "does not run there, or waits for the MPS control daemon"
                evidence.append(f"node {node.name} has no label of GPU feature discovery; if MPS shares it, {_WAITS}")
                remedy = f"set gfd.enabled: true in the values of the device plugin's chart; {remedy}"
        summary += f": node {node.name} offers none, and its device plugin {how}"
        evidence += _autoscaled(node)
    return case.cause("resource-not-offered", summary, evidence, remedy, **names)


_WAITS: Final = "the device plugin waits for the MPS control daemon, which starts on nodes with mps.capable=true alone"

_OF_CONFIGURATION: Final = (
    *("config-unread", "label-unread", "config-label-unknown", "GPS030", "GPS033"),
    "allocatable-differs",
)


def _whole(placement: Placement, name: str) -> Node | None:
    """A node that offers whole cards; None where some node shares them under their own name."""
    index, classes = placement.cluster.index, placement.cluster.classes
    offering = index.nodes(index.offering(name, 1) & placement.selected or index.offering(name, 1))
    nodes = [one for one in offering if name in one.resources]  # a node that is not known in full may offer any
    shares = any(strategy_of(one, classes) in SHARING or replicas_of(one.labels.get(REPLICAS)) > 1 for one in nodes)
    return nodes[0] if nodes and not shares else None


_DESCRIBE: Final = "`kubectl describe node {node}`"


def _ask_again(case: Case) -> str:
    """How to see the device plugin of a node."""
    if case.is_saved:
        return "save the device plugin too, and name its file by another -f: `kubectl get daemonsets,pods -A -o yaml`"
    return f"{_DESCRIBE} shows whether its device plugin runs"


def _autoscaled(node: SeenNode) -> list[str]:
    """A hint where the cluster autoscaler adds more nodes than are needed (kubernetes/autoscaler#1949)."""
    hint = f"the cluster autoscaler waits for the GPUs of a new node only if its group sets the label {EKS_ACCELERATOR}"
    return [hint] if EKS_NODE_GROUP in node.labels and EKS_ACCELERATOR not in node.labels else []


def _of_chain(
    case: Case, node: SeenNode, broken: Finding, cause: str, begins: str, evidence: Sequence[str] = ()
) -> Finding:
    """The cause for the first broken link of a node."""
    name = node.name
    about = "" if name in begins or broken.cause.endswith(f" {name}") else f"node {name}, "
    alike = [one for one in case.chains if one.broken is not None and one.broken.finding == broken.finding]
    more = f" (and {len(alike) - 1} more nodes)" if len(alike) > 1 and about else ""
    summary = f"{begins}: {about}{broken.cause}{more}"
    if broken.finding == "plugin-not-ready":
        summary = f"{begins}: the device plugin on node {name}{more} is not ready"
    elif broken.finding == "daemon-not-ready":
        summary = (
            f"{begins}: the MPS control daemon on node {name}{more} is not ready, and the device plugin waits for it"
        )
    return case.cause(cause, summary, [*broken.evidence, *_autoscaled(node), *evidence], Remedy(broken.remedy))


# What the pod fails at the nearest node.


_CAUSES: Final[Mapping[type, str]] = {
    TransientTaint: "node-not-ready",
    PluginDown: "resource-not-ready",
    Bare: "resource-not-ready",
    Shortfall: "amount-too-large",
    Untolerated: "taint",
    WrongNodeName: "resource-not-offered",
    NoCommonNode: "resource-not-offered",
}


def _of_failure(case: Case, placement: Placement, failure: Failure) -> Finding:
    """The cause for what a pod fails at the nearest node, in the words of GPS014."""
    words, gpus = described(placement, failure, ()), placement.cluster.classes.gpus
    cause, summary = _CAUSES.get(type(failure), "node-selector"), str(words.message)
    match failure:
        case TransientTaint(node, taint):
            is_cordoned = taint.key == CORDONED
            remedy = "`kubectl uncordon {node}`" if is_cordoned else _DESCRIBE
            return case.cause(cause, summary, (), remedy, node=node.name)
        case Bare(node) if any(units and names_gpu(name, gpus) for name, units in node.resources.items()):
            cause = "resource-not-offered"
        case PluginDown(node) | Bare(node):
            return _of_plugin(case, node, cause, summary)
        case Unmet(_, expression) if expression.is_selector and _is_added(case, expression.name):
            added = (
                f"the workload does not set {expression.name}: an annotation of the namespace, or the RuntimeClass does"
            )
            show = "`kubectl describe namespace {namespace}` and the RuntimeClass of the pod show who sets it"
            return case.cause(cause, summary, [added], show)
    return case.cause(cause, summary, (), Remedy(words.remedy, ": ", case.edit))


def _of_plugin(case: Case, node: Node, cause: str, summary: str) -> Finding:
    """The cause where a node offers none of its GPUs: the first broken link of its chain, as far as that is seen."""
    chain = next((one for one in case.chains if one.node.name == node.name), None)
    if chain is not None and chain.broken is not None:
        return _of_chain(case, chain.node, chain.broken, cause, summary)
    evidence, remedy = [], _DESCRIBE
    unhealthy = 0 if chain is None else sum(chain.node.capacity.values()) - sum(chain.node.offered.values())
    if chain is not None and unhealthy:  # of a plugin that ends, the kubelet keeps the devices for five minutes
        ends = "" if chain.runs_plugin else ", or has just ended"
        summary += f": its device plugin reports all {unhealthy} as unhealthy, as after an Xid error{ends}"
        remedy = _DMESG
    elif chain is not None and chain.runs_plugin:
        summary += ", although its device plugin runs"
    else:
        summary += ": its device plugin does not run, or not yet"
        if chain is not None and chain.unseen:
            summary += f", as far as is seen without {chain.unseen}"
            evidence = [*_autoscaled(chain.node), "after an Xid error it runs, and reports all replicas as unhealthy"]
            remedy = _ask_again(case)
    return case.cause(cause, summary, evidence, remedy, node=node.name, of=[reference("Node", node.name)])


_DMESG: Final = (
    "look for Xid errors in the kernel log of the node by "
    "`kubectl debug {of} -it --profile=sysadmin --image=busybox -- dmesg`, then restart its device plugin"
)


def _is_added(case: Case, key: str) -> bool:
    """Whether the pod has an entry of its node selector that its workload does not have, as far as that is known."""
    templates = [template for _, maker in case.makers if (template := part(maker, "spec", "template", "spec"))]
    return bool(templates) and not any(key in part(one, "nodeSelector") for one in templates)


# Nodes that have the GPUs.


def _beside(
    case: Case, candidates: Sequence[Node], wants: Mapping[str, int], listed: Sequence[Reason]
) -> Finding | None:
    """The cause if none of the nodes offers a resource that the pod asks for beside GPUs, such as network devices."""
    nodes = case.facts.nodes or ()
    lacking = {one.resource for one in listed}
    for name, units in wants.items():
        is_known = name in lacking or any(name in one.resources for one in nodes)
        if not is_known or any(one.resources.get(name, 0) >= units for one in candidates):
            continue
        node = max(candidates, key=lambda one: one.resources.get(name, 0))
        most = node.resources.get(name, 0)
        elsewhere = [one.name for one in nodes if one.resources.get(name, 0) >= units]
        evidence = f"nodes that offer it: {', '.join(elsewhere[:SHOWN])}" if elsewhere else ""
        shows = f"{_DESCRIBE} shows what it offers; its plugin for {{domain}} does not offer it"
        remedy = f"ask for at most {most}: {{edit}}" if most else shows
        names = {"node": node.name, "domain": name.partition("/")[0]}
        offers = f"node {node.name} offers {most} of {name}, and the pod asks for {units}"
        return case.cause(
            "other-resources", f"no node has all that the pod asks for: {offers}", [evidence], remedy, **names
        )
    return None


def _held(case: Case, candidates: Sequence[Node], wants: Mapping[str, int], listed: Sequence[Reason]) -> Finding | None:
    """The cause if pods hold what the pod asks for on each node that could take it; None otherwise.

    Without all holders, the scheduler's word that a resource is insufficient decides.
    """
    held = case.held
    lacking = [one.resource for one in listed if one.resource in wants]
    free = next((node for node in candidates if held.has_room(node, wants)), None)
    if free is not None and not lacking:
        return None
    if free is not None and held.is_complete:
        # Nodes without GPUs have selectors and taints, too.
        if any(one.cause not in ("", *_OF_ANY_NODE) for one in listed):
            return None
        now = f"replicas of {lacking[0]} were held when the scheduler looked last; node {free.name} has room now"
        again = "nothing to change: the scheduler tries again, which this shows: `kubectl get pod {pod}`"
        return case.cause("replicas-held", now, (), again)
    short = (name for name in wants if not any(held.has_room(node, {name: wants[name]}) for node in candidates))
    resource = next(short, None) or next(iter(lacking or wants))
    return _holding(case, candidates, resource, wants[resource])


_END_OLD: Final = (
    "let an old pod end first: `kubectl patch {top} -p "
    """'{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}' {ns}`"""
)
_ENDING: Final = (
    "wait until they have ended; if one stays longer than its grace period, look at its finalizers and its node: "
    "`kubectl describe pod {pod} {in}`"
)


def _holding(case: Case, candidates: Sequence[Node], resource: str, units: int) -> Finding:
    """Who holds a resource, and who of them has to end."""
    held, (kind, maker) = case.held, case.top
    holders = [one for node in candidates for one in held.of(node, resource)]
    total = sum(node.resources.get(resource, 0) for node in candidates)
    nodes = "the only node" if len(candidates) == 1 else f"each of the {len(candidates)} nodes"
    where = f"the replicas of {resource} on {nodes} that could take the pod: {total} in all"
    kin = Counter[str]()
    for one in holders:
        kin["ending" if one.pod.is_ending else _kin(case, one)] += one.amount
    old, same, ending = kin["old"], kin["same"], kin["ending"]
    enough = [one for one in holders if one.amount >= units and not one.pod.is_ending]
    # A deleted pod of an old revision is made again, until the rollout ends it.
    idle = [one.pod for one in enough if one.pod.idle and _kin(case, one) != "old"]
    bare = [one.pod for one in enough if one.pod.owner.kind == "Pod"]
    whose = "its own pods and others hold" if same or old else "others hold"
    of: Sequence[LivePod] = bare if len(bare) == 1 else ()
    summary, remedy = f"{whose} {where}", "free replicas, or add nodes: `kubectl gpushare top -A` shows who holds them"
    if ending >= units:
        summary, remedy = f"pods that are being deleted hold {ending} of {where}", _ENDING
        of = [one.pod for one in holders if one.pod.is_ending]
    elif idle:
        summary += f"; pod {idle[0]} does not use what it holds: {idle[0].idle}"
        remedy, of = "correct that pod, or delete it: `kubectl gpushare why {pod} {in}` shows how", idle
    elif old and not ending and kind == "Deployment" and keeps_old(maker):
        waits = f"its old pods hold {old} of {where}; they end only after a new pod is ready"
        summary, remedy = f"the rollout waits for itself: {waits}", _END_OLD
    elif same == total and kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        summary = f"its own pods hold {where}; the {kind} wants {wanted(kind, maker)} pods, and {same // units} fit"
        remedy = "add nodes, or want fewer pods: `kubectl scale {top} {fewer} {ns}`"
    elif of:
        remedy = "if the pod that holds them is not needed: `kubectl delete pod {pod} {in}`"
    evidence = [held.described(one, resource) for one in candidates[:SHOWN]]
    if word(case.pod, "spec", "preemptionPolicy") == "Never":
        evidence.append("preemptionPolicy of the pod is Never: the scheduler ends no pod of a lower priority for it")
    if unhealthy := [named("node", one.name) for one in candidates if held.unhealthy(one, resource)][:1]:
        remedy += "; look why devices of a node are not healthy: `kubectl describe node {unhealthy}`"
    names = {"top": [reference(kind, name_of(maker))], "fewer": [f"--replicas={same // units}"], "unhealthy": unhealthy}
    names |= {"pod": of[0].name, "in": within(of[0].namespace)} if of else {}
    return case.cause("replicas-held", summary, evidence, remedy, **names)


def _kin(case: Case, one: Holding) -> str:
    """Whether a holder is of the pod's own workload: `same`, or `old` for one of another revision; empty for another.

    A Deployment names its ReplicaSets after itself, with a hash of the template.
    """
    own = owner_of(case.pod)
    if one.pod.namespace != case.of.namespace:
        return ""
    kind, maker = case.top
    above, _, _ = one.pod.owner.name.rpartition("-")
    is_old = (kind, one.pod.owner.kind, above) == ("Deployment", "ReplicaSet", name_of(maker))
    return "same" if one.pod.owner == own else "old" if is_old else ""


# What the scheduler says.


REASONS: Final = (
    Row("volume", "volume", "a volume of the pod is not available", "`kubectl get pvc {ns}`"),
    Row(
        "resource-claim",
        r"claim|device ?class",
        "a resource claim of the pod is not met",
        "`kubectl get resourceclaims {ns}`",
    ),
    Row(
        "host-port",
        "free ports",
        "the nodes that could take the pod use its host port already",
        "remove hostPort, or use a Service: {edit}",
    ),
    Row(
        "pod-affinity",
        "affinity rules|topology spread",
        "affinity to other pods, or the spread over nodes, excludes each node that could take the pod",
        "change podAffinity, podAntiAffinity or topologySpreadConstraints: {edit}",
    ),
    Row(
        "other-resources",
        "too many pods|^insufficient ",
        "the nodes that could take the pod lack something besides GPUs",
        "lower the requests: {edit}",
    ),
    Row("node-not-ready", "unschedulable|not ready", "nodes do not take pods now", "`kubectl get nodes`"),
    Row(
        "node-selector",
        "node affinity|node selector|requested node name",
        "node selector or affinity excludes nodes",
        "change nodeSelector or affinity: {edit}",
    ),
    Row("taint", "taint", "nodes have taints that the pod does not tolerate", "add a toleration: {edit}"),
)
"""The reasons by their words, in the order of their weight where a node could take the pod.

Those that keep a pod off all nodes come first, and last those that also nodes without GPUs have.
"""

_OF_ANY_NODE: Final = ("node-not-ready", "node-selector", "taint")
_CONTROL_PLANE: Final = "{node-role.kubernetes.io/"
"""The taints of nodes on which no pod of users runs."""


def _by_message(case: Case, listed: Sequence[Reason]) -> Iterator[Finding]:
    """The causes that the scheduler's message names, the weightiest first."""
    lacking = [one.resource for one in listed if one.resource and not one.cause]
    if lacking and case.context is None:
        summary = f"no node has as much of {', '.join(dict.fromkeys(lacking))} free as the pod asks for"
        yield case.cause("replicas-held", summary, (), "`kubectl gpushare top -A` shows who holds replicas")
    more = any(_CONTROL_PLANE not in one.text for one in listed)
    found = False
    for row in REASONS:
        texts = [one.text for one in listed if one.cause == row.cause and not (_CONTROL_PLANE in one.text and more)]
        if texts and not (found and row.cause in _OF_ANY_NODE):
            found = True
            yield row.found(case, f"{row.summary}: {'; '.join(texts[:SHOWN])}")
    if not found and not lacking:
        yield case.cause("other-resources", "the scheduler finds no node", (), "`kubectl describe pod {pod}`")


class Reason(NamedTuple):
    """A reason. `nodes`: how many it keeps off, 0 where it concerns all. `resource`: the extended one that lacks."""

    text: str
    nodes: int
    cause: str
    resource: str = ""


_AVAILABLE: Final = re.compile(r"^\d+/\d+ nodes are available: ?", re.ASCII)
_REST: Final = re.compile(r"[.,;]? (?:preemption|no new claims to deallocate)\b.*", re.ASCII | re.DOTALL)
_COUNTED: Final = re.compile(r"^(\d{1,7}) (.*)$", re.ASCII | re.DOTALL)
_NEXT: Final = re.compile(r", (?=\d{1,7} )", re.ASCII)
"""What divides parts: each but a single one begins with a number."""

_INSUFFICIENT: Final = re.compile(r"^Insufficient (\S+/\S+)$", re.ASCII)
"""An extended resource, whose name has a domain."""

_TAINT: Final = re.compile(r"taint(?:\(s\)|s)? \{([^:}\s]+)", re.ASCII)
_MOST: Final = 64
"""Reasons of a message that are read."""


def reasons(message: str) -> list[Reason]:
    """The reasons in a message, in its order; none in a message of another form."""
    listed = _REST.sub("", _AVAILABLE.sub("", message)).rstrip(". ")
    return [_reason(one) for one in _NEXT.split(listed, _MOST)[:_MOST]] if listed else []


def _reason(part: str) -> Reason:
    counted = _COUNTED.match(part)
    text, nodes = (counted[2], int(counted[1])) if counted else (part, 0)
    lacking, taint = _INSUFFICIENT.match(text), _TAINT.search(text)
    cause = next((one.cause for one in REASONS if one.search(text)), "")
    if taint is not None and is_lifecycle(taint[1]):
        cause = "node-not-ready"
    return Reason(text, nodes, "" if lacking else cause, lacking[1] if lacking else "")
