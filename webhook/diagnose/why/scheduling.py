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
from itertools import islice
from typing import Any, Final, NamedTuple

from webhook.cluster.reading import condition, entries, part, word
from webhook.cluster.stack import SeenNode, is_discovered
from webhook.diagnose.chain import SHOWN
from webhook.diagnose.doctor.finding import Finding
from webhook.diagnose.pods import Holding, counting, requests_of
from webhook.diagnose.remedy import Remedy
from webhook.diagnose.sharing import replicas_of, strategy_of
from webhook.diagnose.why.case import Case, Cause, amounts, row
from webhook.diagnose.why.state import is_unscheduled, keeps_old, message_of, name_of, owner_of, wanted
from webhook.diagnose.words import reference, within
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
from webhook.policy.placement.reachability import Placement
from webhook.policy.placement.selector import is_lifecycle
from webhook.policy.pods.gpu_resources import KnownNames, names_gpu
from webhook.policy.pods.reading import MalformedError

_FAILED: Final = ("FailedScheduling", "Unschedulable", "NotTriggerScaleUp")


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which a pod has no node, each with what the scheduler says as its last evidence."""
    pod = case.pod
    if pod is None or not is_unscheduled(pod) or entries(pod, "spec", "schedulingGates"):
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
    scheduled = condition(case.pod or {}, "PodScheduled")
    if scheduled.get("status") == "False" and (message := word(scheduled, "message")):
        return message
    return message_of(case.events, _FAILED)


def _unseen(case: Case) -> Cause:
    name = word(case.pod, "spec", "schedulerName") or "default-scheduler"
    claims = [
        word(one, "resourceClaimName") or word(one, "resourceClaimTemplateName")
        for one in entries(case.pod, "spec", "resourceClaims")
    ]
    if name == "default-scheduler" and claims:  # it queues no pod before its claims exist (plugin DynamicResources)
        summary = f"the scheduler waits until the pod's resource claims exist: {', '.join(claims[:SHOWN])}"
        return Cause("resource-claim", summary, (), "`kubectl get resourceclaims {ns}`")
    remedy = "install the scheduler {scheduler}, or remove schedulerName: {edit}"
    if name == "default-scheduler":
        remedy = "`kubectl -n kube-system get pods -l component=kube-scheduler`"
    evidence = [f"spec.schedulerName is {name}", "the pod has no condition PodScheduled and no event of a scheduler"]
    summary = f"the scheduler {name} has not looked at the pod; does it run?"
    return Cause("no-scheduler", summary, evidence, remedy, {"scheduler": name})


def _by_facts(case: Case, listed: Sequence[Reason]) -> Iterator[Cause]:
    """The causes that the nodes and the holders of their replicas show; none where they show none."""
    context = case.around.context
    if context is None or case.around.facts.nodes is None:
        return
    placement, index = context.placement, context.placement.cluster.index
    asked = list(dict.fromkeys(name for _, name, _ in amounts(case.pod)))
    absent = [cause for name in asked if (cause := _absent(case, placement, name)) is not None]
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
        wants = requests_of(case.pod or {}, counting(case.settings, asked))
        cause = _beside(case, candidates, wants, listed) or _held(case, candidates, wants, listed)
        if cause is not None:
            yield cause


# Resources that no node offers.


def _absent(case: Case, placement: Placement, name: str) -> Cause | None:
    """The cause if no node offers a GPU resource of this name; None for another resource."""
    cluster, chains = placement.cluster, case.around.chains
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
    return Cause("resource-not-offered", summary, evidence, remedy, names)


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


_ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"
_NODE_GROUP: Final = "eks.amazonaws.com/nodegroup"


def _autoscaled(node: SeenNode) -> list[str]:
    """A hint where the cluster autoscaler adds more nodes than are needed (kubernetes/autoscaler#1949)."""
    hint = f"the cluster autoscaler waits for the GPUs of a new node only if its group sets the label {_ACCELERATOR}"
    return [hint] if _NODE_GROUP in node.labels and _ACCELERATOR not in node.labels else []


def _of_chain(
    case: Case, node: SeenNode, broken: Finding, cause: str, begins: str, evidence: Sequence[str] = ()
) -> Cause:
    """The cause for the first broken link of a node."""
    name = node.name
    about = "" if name in begins else f"node {name}, "
    alike = [one for one in case.around.chains if one.broken is not None and one.broken.finding == broken.finding]
    more = f" (and {len(alike) - 1} more nodes)" if len(alike) > 1 and about else ""
    summary = f"{begins}: {about}{broken.cause}{more}"
    if broken.finding == "plugin-not-ready":
        summary = f"{begins}: the device plugin on node {name}{more} is not ready"
    elif broken.finding == "daemon-not-ready":
        summary = (
            f"{begins}: the MPS control daemon on node {name}{more} is not ready, and the device plugin waits for it"
        )
    return Cause(cause, summary, [*broken.evidence, *_autoscaled(node), *evidence], Remedy(broken.remedy))


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


def _of_failure(case: Case, placement: Placement, failure: Failure) -> Cause:
    """The cause for what a pod fails at the nearest node, in the words of GPS014."""
    words, gpus = described(placement, failure, ()), placement.cluster.classes.gpus
    cause, summary = _CAUSES.get(type(failure), "node-selector"), str(words.message)
    match failure:
        case TransientTaint(node, taint):
            is_cordoned = taint.key == "node.kubernetes.io/unschedulable"
            remedy = "`kubectl uncordon {node}`" if is_cordoned else _DESCRIBE
            return Cause(cause, summary, (), remedy, {"node": node.name})
        case Bare(node) if any(units and names_gpu(name, gpus) for name, units in node.resources.items()):
            cause = "resource-not-offered"
        case PluginDown(node) | Bare(node):
            return _of_plugin(case, node, cause, summary)
        case Unmet(_, expression) if expression.is_selector and _is_added(case, expression.name):
            added = (
                f"the workload does not set {expression.name}: an annotation of the namespace, or the RuntimeClass does"
            )
            show = "`kubectl describe namespace {namespace}` and the RuntimeClass of the pod show who sets it"
            return Cause(cause, summary, [added], show)
    return Cause(cause, summary, (), Remedy(words.remedy, ": ", case.edit))


def _of_plugin(case: Case, node: Node, cause: str, summary: str) -> Cause:
    """The cause where a node offers none of its GPUs: the first broken link of its chain, as far as that is seen."""
    chain = next((one for one in case.around.chains if one.node.name == node.name), None)
    if chain is not None and chain.broken is not None:
        return _of_chain(case, chain.node, chain.broken, cause, summary)
    evidence, remedy = [], _DESCRIBE
    if chain is not None and chain.runs_plugin:
        summary += ", although its device plugin runs"
    else:
        summary += ": its device plugin does not run, or not yet"
        if chain is not None and chain.unseen:
            summary += f", as far as is seen without {chain.unseen}"
            evidence, remedy = _autoscaled(chain.node), _ask_again(case)
    return Cause(cause, summary, evidence, remedy, {"node": node.name})


def _is_added(case: Case, key: str) -> bool:
    """Whether the pod has an entry of its node selector that its workload does not have, as far as that is known."""
    templates = [template for _, maker in case.makers if (template := part(maker, "spec", "template", "spec"))]
    return bool(templates) and not any(key in part(one, "nodeSelector") for one in templates)


# Nodes that have the GPUs.


def _beside(case: Case, candidates: Sequence[Node], wants: Mapping[str, int], listed: Sequence[Reason]) -> Cause | None:
    """The cause if none of the nodes offers a resource that the pod asks for beside GPUs, such as network devices."""
    nodes = case.around.facts.nodes or ()
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
        return Cause("other-resources", f"no node has all that the pod asks for: {offers}", [evidence], remedy, names)
    return None


def _held(case: Case, candidates: Sequence[Node], wants: Mapping[str, int], listed: Sequence[Reason]) -> Cause | None:
    """The cause if pods hold what the pod asks for on each node that could take it; None otherwise.

    Without all holders, the scheduler's word that a resource is insufficient decides.
    """
    held = case.around.held
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
        return Cause("replicas-held", now, (), again)
    short = (name for name in wants if not any(held.has_room(node, {name: wants[name]}) for node in candidates))
    resource = next(short, None) or next(iter(lacking or wants))
    return _holding(case, candidates, resource, wants[resource])


def _holding(case: Case, candidates: Sequence[Node], resource: str, units: int) -> Cause:
    """Who holds a resource, and who of them has to end."""
    held = case.around.held
    holders = [one for node in candidates for one in held.of(node, resource)]
    total = sum(node.resources.get(resource, 0) for node in candidates)
    nodes = "the only node" if len(candidates) == 1 else f"each of the {len(candidates)} nodes"
    where = f"the replicas of {resource} on {nodes} that could take the pod: {total} in all"
    kin = Counter[str]()
    for one in holders:
        kin["ending" if one.pod.is_ending else _kin(case, one)] += one.amount
    old, same, ending = kin["old"], kin["same"], kin["ending"]
    kind, maker = case.top
    names: dict[str, Any] = {"top": [reference(kind, name_of(maker))]}
    single = [one.pod for one in holders if one.pod.owner.kind == "Pod" and one.amount >= units]
    if ending >= units:
        single = [one.pod for one in holders if one.pod.is_ending][:1]
    if len(single) == 1:
        names |= {"pod": single[0].name, "in": within(single[0].namespace)}
    if old and not ending and kind == "Deployment" and keeps_old(maker):
        waits = f"its old pods hold {old} of {where}; they end only after a new pod is ready"
        summary = f"the rollout waits for itself: {waits}"
        remedy = (
            "let an old pod end first: `kubectl patch {top} -p "
            """'{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}' {ns}`"""
        )
    elif ending >= units:
        summary = f"pods that are being deleted hold {ending} of {where}"
        remedy = (
            "wait until they have ended; if one stays longer than its grace period, look at its finalizers and its "
            "node: `kubectl describe pod {pod} {in}`"
        )
    elif same == total and kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        fit = same // units
        summary = f"its own pods hold {where}; the {kind} wants {wanted(kind, maker)} pods, and {fit} fit"
        remedy, names["fewer"] = (
            "add nodes, or want fewer pods: `kubectl scale {top} {fewer} {ns}`",
            [f"--replicas={fit}"],
        )
    else:
        summary = f"{'its own pods and others hold' if same or old else 'others hold'} {where}"
        remedy = "free replicas, or add nodes: `kubectl gpushare top -A` shows who holds them"
        if len(single) == 1:
            remedy = "if the pod that holds them is not needed: `kubectl delete pod {pod} {in}`"
    evidence = [held.described(one, resource) for one in candidates[:SHOWN]]
    return Cause("replicas-held", summary, evidence, remedy, names)


def _kin(case: Case, one: Holding) -> str:
    """Whether a holder is of the pod's own workload: `same`, or `old` for one of another revision; empty for another.

    A Deployment names its ReplicaSets after itself, with a hash of the template.
    """
    own = owner_of(case.pod)
    if one.pod.namespace != case.namespace or own is None:
        return ""
    if one.pod.owner == own:
        return "same"
    kind, maker = case.top
    above, _, _ = one.pod.owner.name.rpartition("-")
    is_old = (kind, one.pod.owner.kind, above) == ("Deployment", "ReplicaSet", name_of(maker))
    return "old" if is_old else ""


# What the scheduler says.


REASONS: Final = (
    row("volume", "volume", "a volume of the pod is not available", "`kubectl get pvc {ns}`"),
    row(
        "resource-claim",
        r"claim|device ?class",
        "a resource claim of the pod is not met",
        "`kubectl get resourceclaims {ns}`",
    ),
    row(
        "host-port",
        "free ports",
        "the nodes that could take the pod use its host port already",
        "remove hostPort, or use a Service: {edit}",
    ),
    row(
        "pod-affinity",
        "affinity rules|topology spread",
        "affinity to other pods, or the spread over nodes, excludes each node that could take the pod",
        "change podAffinity, podAntiAffinity or topologySpreadConstraints: {edit}",
    ),
    row(
        "other-resources",
        "too many pods",
        "the nodes that could take the pod lack something besides GPUs",
        "lower the requests: {edit}",
    ),
    row("node-not-ready", "unschedulable|not ready", "nodes do not take pods now", "`kubectl get nodes`"),
    row(
        "node-selector",
        "node affinity|node selector|requested node name",
        "node selector or affinity excludes nodes",
        "change nodeSelector or affinity: {edit}",
    ),
    row("taint", "taint", "nodes have taints that the pod does not tolerate", "add a toleration: {edit}"),
)
"""The reasons by their words, in the order of their weight where a node could take the pod.

Those that keep a pod off all nodes come first, and last those that also nodes without GPUs have.
"""

_OF_ANY_NODE: Final = ("node-not-ready", "node-selector", "taint")
_CONTROL_PLANE: Final = "{node-role.kubernetes.io/"
"""The taints of nodes on which no pod of users runs."""


def _by_message(case: Case, listed: Sequence[Reason]) -> Iterator[Cause]:
    """The causes that the scheduler's message names, the weightiest first."""
    extended = [one.resource for one in listed if one.resource and not one.cause]
    if extended and (case.around.context is None or case.around.facts.nodes is None):
        summary = f"no node has as much of {', '.join(dict.fromkeys(extended))} free as the pod asks for"
        yield Cause("replicas-held", summary, (), "`kubectl gpushare top -A` shows who holds replicas")
    more = any(_CONTROL_PLANE not in one.text for one in listed)
    found = False
    for cause, _, meaning, advice in REASONS:
        texts = [one.text for one in listed if one.cause == cause and not (_CONTROL_PLANE in one.text and more)]
        if texts and not (found and cause in _OF_ANY_NODE):
            found = True
            yield Cause(cause, f"{meaning}: {'; '.join(texts[:SHOWN])}", (), advice)
    if not found and not extended:
        yield Cause("other-resources", "the scheduler finds no node", (), "`kubectl describe pod {pod}`")


class Reason(NamedTuple):
    """A reason. `nodes`: how many nodes it keeps off, 0 where it concerns all. `resource`: the one that lacks."""

    text: str
    nodes: int
    cause: str
    resource: str = ""


_AVAILABLE: Final = re.compile(r"^\d+/\d+ nodes are available: ?", re.ASCII)
_REST: Final = re.compile(r"[.,;]? (?:preemption|no new claims to deallocate)\b.*", re.ASCII | re.DOTALL)
_COUNTED: Final = re.compile(r"^(\d{1,7}) (.*)$", re.ASCII | re.DOTALL)
_INSUFFICIENT: Final = re.compile(r"^Insufficient (\S+)$", re.ASCII)
_TAINT: Final = re.compile(r"taint(?:\(s\)|s)? \{([^:}\s]+)", re.ASCII)
_MOST: Final = 64
"""Reasons of a message that are read."""


def reasons(message: str) -> list[Reason]:
    """The reasons in a message, in its order; none in a message of another form."""
    listed = _REST.sub("", _AVAILABLE.sub("", message)).rstrip(". ")
    return [_reason(one) for one in islice(_parts(listed), _MOST)] if listed else []


def _parts(listed: str) -> Iterator[str]:
    """The parts between commas. Each but a single one begins with a number."""
    part = ""
    for one in listed.split(", "):
        if part and _COUNTED.match(one):
            yield part
            part = one
        else:
            part = f"{part}, {one}" if part else one
    yield part


def _reason(part: str) -> Reason:
    counted = _COUNTED.match(part)
    text, nodes = (counted[2], int(counted[1])) if counted else (part, 0)
    if lacking := _INSUFFICIENT.match(text):  # the name of an extended resource has a domain
        return Reason(text, nodes, "" if "/" in lacking[1] else "other-resources", lacking[1])
    taint = _TAINT.search(text)
    if taint is not None and is_lifecycle(taint[1]):
        return Reason(text, nodes, "node-not-ready")
    return Reason(text, nodes, next((one.cause for one in REASONS if one.words.search(text)), ""))
