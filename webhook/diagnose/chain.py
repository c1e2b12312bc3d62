"""The chain from a card to what its node offers: the checks of `doctor` about one node, each a link of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from webhook.cluster.objects import DAEMON_SET, NAMESPACE, NODE, POD, Object, Objects, all_of
from webhook.cluster.reading import FINISHED, part, word
from webhook.cluster.stack import (
    Program,
    ProgramPod,
    Role,
    SeenNode,
    program_of_pod,
    program_pod,
    role_of,
    seen_node,
)
from webhook.cluster.trusted import Part, Stack, Trust, configurations_of, named, programs_of, trust
from webhook.diagnose.doctor import nodes
from webhook.diagnose.finding import Advice, Check, Finding, Remedy, advice
from webhook.diagnose.pods import UNFINISHED, Holding
from webhook.policy.placement.cluster_objects import Namespace, Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.platforms import shows_gpus
from webhook.policy.pods.gpu_resources import GpuResources, names_gpu
from webhook.policy.settings.settings import Settings
from webhook.report.lines import counted, first

_PODS: Final = "pods of the device plugin"

_LINKS: Final[Sequence[tuple[str, Role, tuple[Check, ...]]]] = (
    ("device plugin", Role.PLUGIN, nodes.WHERE),
    ("configuration", Role.PLUGIN, nodes.CONFIGURATION),
    ("MPS control daemon", Role.DAEMON, nodes.DAEMON),
    (_PODS, Role.PLUGIN, nodes.PODS),
    ("runtime class", Role.PLUGIN, ()),
    ("amounts", Role.PLUGIN, nodes.AMOUNTS),
)
"""The links in the order in which each needs the one before, with the program that they are about.

The plugin waits for the daemon. Node feature discovery comes before them, and the holders of replicas after them.
"""


SHOWN: Final = 5
"""Nodes, and holders of a node, that the evidence names."""

_UNREAD: Final = ("config-unread", "label-unread")
"""Warnings that explain why a node shares nothing."""


class Link(NamedTuple):
    """A link of a node. `finding` says what is broken, and `unseen` which objects could not be read.

    A link with neither is well, or does not apply.
    """

    name: str
    finding: Finding | None = None
    unseen: str = ""


class Held(NamedTuple):
    """Who holds replicas, by node and resource. `is_complete`: all pods of these nodes could be read.

    `capacity` has what some nodes offer together with the devices that are not healthy.
    """

    by_node: Mapping[tuple[str, str], Sequence[Holding]]
    is_complete: bool
    capacity: Mapping[str, Mapping[str, int]] = MappingProxyType({})

    def of(self, node: Node, resource: str) -> Sequence[Holding]:
        """Who holds a resource of a node."""
        return self.by_node.get((node.name, resource), ())

    def has_room(self, node: Node, wanted: Mapping[str, int]) -> bool:
        """Whether a node has so many units of each resource free, as far as its holders are known."""
        held = {name: sum(one.amount for one in self.of(node, name)) for name in wanted}
        return all(node.resources.get(name, 0) - held[name] >= units for name, units in wanted.items())

    def described(self, node: Node, resource: str) -> str:
        """Who holds a resource of a node, in words."""
        total, holders = node.resources.get(resource, 0), self.of(node, resource)
        if not holders:
            return f"node {node.name} offers {total}; its holders are not known"
        names = []
        for one in holders[:SHOWN]:
            state = one.pod.idle or ("not started" if one.pod.phase == "Pending" else "")
            state = "being deleted" if one.pod.is_ending else state
            names.append(f"{one.pod} ({one.amount}{f', {state}' if state else ''})")
        more = f" and {len(holders) - len(names)} more" if len(holders) > len(names) else ""
        count, unhealthy = sum(one.amount for one in holders), self.unhealthy(node, resource)
        beyond = ", more than it offers now" if count > total else ""
        also = f"; {unhealthy} of {total + unhealthy} are not healthy" if unhealthy else ""
        return f"node {node.name}: {count} of {total} held{beyond} by {', '.join(names)}{more}{also}"

    def unhealthy(self, node: Node, resource: str) -> int:
        """The units of a resource that a node has and does not offer, since their devices are not healthy."""
        offered = node.resources.get(resource, 0)
        return max(self.capacity.get(node.name, {}).get(resource, 0) - offered, 0)


UNKNOWN_HOLDERS: Final = Held({}, is_complete=False)


class Chain(NamedTuple):
    """The links of a node. A node has a chain if its labels or resources show a GPU, or nothing labels nodes.

    `runtime_class` is that of its device plugin, and `strategy` how its configuration shares cards; None if unknown.
    `daemons` are the pods of its MPS control daemon: of those that a DaemonSet made, those that tenants cannot make.
    Where no program of the stack counts, they are all of them.
    """

    node: SeenNode
    links: Sequence[Link]
    runtime_class: str | None
    strategy: str | None
    daemons: Sequence[ProgramPod] = ()

    @property
    def broken(self) -> Finding | None:
        """What is broken first."""
        found = [one.finding for one in self.links if one.finding is not None]
        return next((one for one in found if one.severity == "error"), found[0] if found else None)

    @property
    def runs_plugin(self) -> bool:
        """Whether it is seen that the device plugin runs."""
        return Link(_PODS) in self.links

    @property
    def unseen(self) -> str:
        """The objects that could not be read; empty if all could be."""
        return ", ".join(dict.fromkeys(one.unseen for one in self.links if one.unseen))

    @property
    def is_unclear(self) -> bool:
        """Whether nothing shows that the device plugin runs, and nothing that it does not."""
        return bool(self.unseen) and not self.runs_plugin


async def chains(
    objects: Objects,
    settings: Settings,
    facts: Facts,
    among: Sequence[Node],
    namespace: str,
    unlabelled: Sequence[Node] = (),
) -> list[Chain]:
    """Read the chains of nodes, by the programs that `doctor` believes.

    It presumes no program in the namespace of the question. The labels of a node outrank the configuration of a plugin
    that it presumes to be the right one. Of the `unlabelled` nodes nothing more is read: node feature discovery may be
    why they show no GPU.
    """
    gpus = GpuResources(settings.resources)
    nodes = [*[await seen_of(objects, one, gpus) for one in among], *(_of_facts(one, gpus) for one in unlabelled)]
    read = [each for one in among async for each in _stack(objects, None, f"spec.nodeName={one.name}")]
    pods = [program_pod(*each) for each in read]
    listed = [one async for one in programs_of(objects, with_features=True)]
    stack = [one for one in listed if one.role is not Role.FEATURES]
    if objects.lacks(DAEMON_SET):
        stack = list({str(one): one for pod, _ in read if (one := program_of_pod(pod)) is not None}.values())
    others = (one for one in facts.nodes or () if one not in among and one not in unlabelled)
    every = (*nodes, *(_of_facts(one, gpus) for one in others))
    trusted = await _trust(objects, settings, stack, every, pods)
    if trusted.presumed == namespace:
        trusted = replace(trusted, presumed="")
    programs = [one for one in stack if trusted.counts(one.namespace)]
    configs = await configurations_of(objects, programs)
    lacking: dict[Part, str] = {"daemonsets": "daemonsets"} if objects.lacks(DAEMON_SET) else {}
    if objects.lacks(POD):
        lacking["pods"] = "pods in all namespaces"
    if any(each.config_map and each.maps not in configs for each in programs if each.role is Role.PLUGIN):
        lacking["configurations"] = "the ConfigMap of the device plugin"
    # Any tenant may make one that looks like a worker.
    workers = [one for one in listed if one.role is Role.FEATURES]
    workers.sort(key=lambda one: (not trusted.counts(one.namespace), not one.ready))
    found = []
    for node in nodes:
        counting = [one for one in pods if one.node == node.name and trusted.counts(one.namespace)]
        on = programs if "pods" in lacking else [_on(one, node, counting, objects) for one in programs]
        seen = Stack(trusted, (node,), on, counting, configs, facts, lacking)
        own, chosen = seen.plugin_of(node), None if trusted.presumed else seen.chosen(node)
        shows = bool(node.offered) or shows_gpus(node.labels, node.taints) or node.runs_stack_itself
        features = _features(seen, workers, shows=shows)
        links = [features, *(_link(*one, seen) for one in _LINKS)] if shows else [features]
        strategy = None if chosen is None or chosen.config is None else chosen.config.strategy
        if shows or features.finding is not None:
            of_sets = counting if programs else [one for one in pods if one.node == node.name]
            daemons = [one for one in of_sets if one.role is Role.DAEMON and one.is_of_daemon_set]
            found.append(Chain(node, links, None if own is None else own.runtime_class, strategy, daemons))
    return found


async def _trust(
    objects: Objects,
    settings: Settings,
    stack: Sequence[Program],
    nodes: Sequence[SeenNode],
    pods: Sequence[ProgramPod],
) -> Trust:
    """Whom to believe. Namespaces, and pods on other nodes, are read only of plugins that nothing names."""
    known = named(settings)
    others = sorted({one.namespace for one in stack if one.role is Role.PLUGIN} - known)
    pods = [*pods, *[program_pod(*pod) for one in others async for pod in _stack(objects, one, UNFINISHED)]]
    read = [] if objects.lacks(NAMESPACE) else [await objects.one(NAMESPACE, None, one) for one in others]
    namespaces = [Namespace(word(one, "metadata", "name"), part(one, "metadata", "labels")) for one in read if one]
    return trust(known, namespaces, nodes, stack, pods)


async def seen_of(objects: Objects, node: Node, gpus: GpuResources) -> SeenNode:
    """A node with all that it has, as far as it can be read."""
    raw = None if objects.lacks(NODE) else await objects.one(NODE, None, node.name)
    return (None if raw is None else seen_node(raw, gpus)) or _of_facts(node, gpus)


def _of_facts(node: Node, gpus: GpuResources) -> SeenNode:
    offered = {name: units for name, units in node.resources.items() if names_gpu(name, gpus)}
    return SeenNode(node.name, node.labels, node.taints, offered, offered)


async def _stack(objects: Objects, namespace: str | None, fields: str) -> AsyncIterator[tuple[Object, Role]]:
    """The unfinished pods of the GPU stack."""
    async for one in all_of(objects, POD, namespace, fieldSelector=fields):
        role = role_of(part(one, "spec"))
        if role is not None and word(one, "status", "phase") not in FINISHED:
            yield one, role


def _on(program: Program, node: SeenNode, pods: Sequence[ProgramPod], objects: Objects) -> Program:
    """The DaemonSet with the pods of one node alone; as it is where files hold none of them."""
    own = [one for one in pods if (one.namespace, one.owner) == (program.namespace, program.name)]
    wanted = int(bool(own) or program.covers(node))
    if not own and not objects.has_all(POD):
        return replace(program, desired=max(program.desired, wanted))
    return replace(program, desired=wanted, ready=sum(one.is_ready for one in own))


def _link(name: str, role: Role, checks: Sequence[Check], seen: Stack) -> Link:
    if role is Role.DAEMON and not any(seen.mps_nodes()):
        return Link(name)
    # A pod shows what its DaemonSet is.
    known = {"daemonsets"} if seen.of(role) else set()
    needs = [part for one in checks for part in one.needs] or ["daemonsets"]
    lacking = dict.fromkeys(seen.lacking[part] for part in needs if part in seen.lacking and part not in known)
    if lacking:
        return Link(name, None, ", ".join(lacking))
    if not checks:
        return _runtime_class(name, seen)
    # What a presumed plugin of the node does says more than that nothing shows whose it is.
    is_presumed = seen.trust.presumed and seen.plugin_of(seen.nodes[0]) is not None
    for found in (each for one in checks for each in one.run(seen)):
        if (is_presumed and found.finding == "plugin-missing") or (
            found.severity != "error" and found.finding not in _UNREAD
        ):
            continue
        if not found.marked(seen.trust.administered).is_of_tenants:
            return Link(name, found)
        presumes = f"tenants may use namespace {found.namespaces[0]}, whose stack is presumed to be right"
        return Link(name, replace(found, evidence=(*found.evidence, presumes)))
    return Link(name)


def _runtime_class(name: str, seen: Stack) -> Link:
    """Whether the plugin gets the driver: through the class that it names, or through the node's own runtime."""
    node, classes = seen.nodes[0], seen.facts.runtime_classes
    own = seen.plugin_of(node)
    if own is None or any(node.offered.values()):
        return Link(name)
    if classes is None:
        return Link(name, None, "runtimeclasses")
    if own.runtime_class and all(one.name != own.runtime_class for one in classes):
        cause = f"DaemonSet {own} names RuntimeClass {own.runtime_class}, which does not exist: it has no pods"
        remedy = advice(
            "install the NVIDIA container toolkit on the node, and apply {apiVersion: node.k8s.io/v1, kind: "
            "RuntimeClass, metadata: {name: {runtimeclass}}, handler: nvidia}; or: `kubectl -n {namespace} edit "
            "{object}`",
            own,
            runtimeclass=own.runtime_class,
        )
        known = (f"RuntimeClasses: {first([one.name for one in classes]) or 'none'}",)
        return Link(name, Finding("runtime-class-missing", "error", node.name, cause, known, remedy))
    brings = next((one.name for one in classes if one.handler == "nvidia"), "")
    if own.runtime_class or not brings or own.ready < own.desired:
        return Link(name)
    cause = f"its device plugin runs and finds no card: DaemonSet {own} has no runtimeClassName, so no driver"
    set_it = "set runtimeClassName: {runtimeclass} in its pod template: `kubectl -n {namespace} edit {object}`"
    evidence = (f"RuntimeClass {brings} has the handler nvidia", "the node offers no GPU")
    remedy = advice(set_it, own, runtimeclass=brings)
    return Link(name, Finding("plugin-without-class", "error", node.name, cause, evidence, remedy))


_FEATURE: Final = "feature.node.kubernetes.io/"
_PRESENT: Final = "nvidia.com/gpu.present"
_OF_CHART: Final = {f"{_FEATURE}pci-10de.present": "true", f"{_FEATURE}cpu-model.vendor_id": "NVIDIA", _PRESENT: "true"}
"""The labels of which the plugin's chart wants one (NVIDIA/k8s-device-plugin deployments/helm values.yaml)."""


def _features(seen: Stack, workers: Sequence[Program], *, shows: bool) -> Link:
    """Whether node feature discovery, or who labels by hand, gave the node a label by which the plugin selects it.

    Of a node that shows no GPU, one is missed only where node feature discovery runs nowhere.
    """
    name, node = Role.FEATURES.value, seen.nodes[0]
    plugins, is_unseen = seen.administered(Role.PLUGIN), "daemonsets" in seen.lacking
    if any(node.offered.values()) or node.runs_stack_itself or seen.plugin_of(node) is not None:
        return Link(name)
    wanted = {key for one in plugins for key in _selected(one)}
    wanted = wanted if any(key.startswith(_FEATURE) for key in wanted) else set()
    if is_unseen and not plugins and not any(node.labels.get(key) == value for key, value in _OF_CHART.items()):
        wanted = set(_OF_CHART)
    if not wanted:
        return Link(name, None, "daemonsets" if is_unseen else "")
    has = sorted(key for key in node.labels if key.startswith(_FEATURE) and "10de" in key)
    who = f"DaemonSet {plugins[0]} selects" if plugins else "the chart of the device plugin selects"
    asks = f"{who} nodes by {first(sorted(wanted))}"
    if not shows and not (workers and workers[0].desired and not any(one.ready for one in workers)):
        return Link(name)
    remedy: Advice = ""
    if has:
        cause = f"its label of node feature discovery, {has[0]}, is not one by which the device plugin selects nodes"
        remedy = "set deviceLabelFields: [vendor] of node feature discovery"
    elif not workers:
        cause = "no label shows its cards to the device plugin, and node feature discovery is not installed"
        cause = cause if not is_unseen else "no label by which the chart of the device plugin selects nodes is there"
        remedy = "set nfd.enabled: true in the values of the device plugin's chart"
    elif (taint := workers[0].repelled(node)) is not None:
        cause = f"node feature discovery does not tolerate the taint {taint}, so that nothing labels the node"
        remedy = advice(
            "add {key: {taint}, operator: Exists} to the tolerations of its worker: "
            "`kubectl -n {namespace} edit {object}`",
            workers[0],
            taint=taint.key,
        )
    else:
        cause = f"{workers[0].ready} of {counted(workers[0].desired, 'worker')} of node feature discovery ready"
        cause += "" if shows else f": nothing labels nodes, such as {node.name}"
        remedy = advice("`kubectl -n {namespace} describe {object}`", workers[0])
    mark = advice("`kubectl label node {node} nvidia.com/gpu.present=true`", node=node.name)
    is_enough = not plugins or any(_PRESENT in _selected(one) for one in plugins)
    remedy = Remedy(mark, ", or ", remedy) if shows and is_enough else remedy
    return Link(name, Finding("node-not-labelled", "error", node.name, cause, (asks,), remedy))


def _selected(program: Program) -> set[str]:
    """The labels by which a DaemonSet selects nodes."""
    needs = program.requirement
    return set() if needs is None else {*needs.selector, *(key for term in needs.terms or () for key in term)}
