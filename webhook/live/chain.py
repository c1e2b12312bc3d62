"""The chain from a card to what its node offers: the checks of `doctor` about one node, each a link of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

from webhook.cluster.objects import DAEMON_SET, NAMESPACE, NODE, POD, Objects
from webhook.cluster.reading import part, word
from webhook.cluster.stack import Program, ProgramPod, Role, SeenNode, program_pod, role_of, seen_node
from webhook.live.doctor import daemons, nodes, plugin
from webhook.live.doctor.finding import Check, Finding
from webhook.live.doctor.gathering import configurations_of, plugins_of, programs_of
from webhook.live.doctor.seen import Part, Seen, SeenPods, Trust
from webhook.live.doctor.trust import Evidence, named, trust
from webhook.live.pods import FINISHED, UNFINISHED
from webhook.policy.placement.cluster_objects import Namespace, Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import shows_gpus
from webhook.policy.pods.gpu_resources import GpuResources, names_gpu
from webhook.policy.settings.settings import Settings

_LINKS: Final[Sequence[tuple[str, tuple[Check, ...]]]] = (
    ("device plugin", plugin.WHERE),
    ("configuration", plugin.CONFIGURATION),
    ("MPS control daemon", daemons.CHECKS),
    ("pods of the device plugin", plugin.PODS),
    ("amounts", nodes.AMOUNTS),
)
"""The links in the order in which each needs the one before. The plugin waits for the daemon."""


_UNREAD: Final = ("config-unread", "label-unread")
"""Warnings that explain why a node shares nothing."""


class State(Enum):
    """The state of a link."""

    WELL = "well"
    BROKEN = "broken"
    NOT_SEEN = "not seen"
    NOT_NEEDED = "does not apply"


class Link(NamedTuple):
    """A link of a node. `finding` says what is broken, and `unseen` which objects could not be read."""

    name: str
    state: State
    finding: Finding | None = None
    unseen: str = ""


class Chain(NamedTuple):
    """The links of a node. `shows_gpus`: its labels or its resources say that it has some.

    `runtime_class` is that of its device plugin, and `strategy` how its configuration shares cards; None if unknown.
    """

    node: SeenNode
    shows_gpus: bool
    links: Sequence[Link]
    runtime_class: str | None
    strategy: str | None

    @property
    def broken(self) -> Finding | None:
        """What is broken first."""
        found = [one.finding for one in self.links if one.finding is not None]
        return next((one for one in found if one.severity == "error"), found[0] if found else None)

    @property
    def unseen(self) -> str:
        """The objects that could not be read; empty if all could be."""
        return ", ".join(dict.fromkeys(one.unseen for one in self.links if one.unseen))


async def chains(
    objects: Objects, settings: Settings, facts: Facts, among: Sequence[Node], namespace: str
) -> list[Chain]:
    """Read the chains of nodes, by the programs that `doctor` believes.

    It presumes no program in the namespace of the question. The labels of a node outrank the configuration of a plugin
    that it presumes to be the right one.
    """
    gpus = GpuResources(settings.resources)
    stack = [one async for one in programs_of(objects)]
    nodes = [await _node(objects, one, gpus) for one in among]
    on_nodes = [[each async for each in _programs(objects, None, f"spec.nodeName={one.name}")] for one in nodes]
    every = (*nodes, *(_of_facts(one, gpus) for one in facts.nodes or () if one not in among))
    pods = [pod for each in on_nodes for pod in each]
    trusted = await _trust(objects, settings, stack, every, pods)
    if trusted.presumed == namespace:
        trusted = replace(trusted, presumed="")
    programs = [one for one in stack if trusted.counts(one.namespace)]
    configs = await configurations_of(objects, programs)
    lacking: dict[Part, str] = {}
    if objects.lacks(DAEMON_SET):
        lacking["daemonsets"] = "daemonsets"
    if objects.lacks(POD):
        lacking["pods"] = "pods in all namespaces"
    if any(each.config_map and each.maps not in configs for each in programs if each.role is Role.PLUGIN):
        lacking["configurations"] = "the ConfigMap of the device plugin"
    found = []
    for node, on_node in zip(nodes, on_nodes, strict=True):
        counting = [one for one in on_node if trusted.counts(one.namespace)]
        seen = Seen(
            settings,
            facts,
            datetime.now(UTC),
            trusted,
            (node,),
            tuple(programs if "pods" in lacking else (_on(each, node, counting) for each in programs)),
            configs,
            pods=SeenPods(counting),
            plugins=plugins_of(counting),
            lacking=lacking,
        )
        own, chosen = seen.plugin_of(node), None if trusted.presumed else seen.chosen(node)
        shows = bool(node.offered) or shows_gpus(node.labels) or node.runs_stack_itself
        links = tuple(_link(name, checks, seen) for name, checks in _LINKS) if shows else ()
        strategy = None if chosen is None or chosen.config is None else chosen.config.strategy
        found.append(Chain(node, shows, links, None if own is None else own.runtime_class, strategy))
    return found


async def _trust(
    objects: Objects,
    settings: Settings,
    stack: Sequence[Program],
    nodes: Sequence[SeenNode],
    pods: Sequence[ProgramPod],
) -> Trust:
    """Whom to believe. Namespaces, and pods on other nodes, are read only of plugins that nothing names."""
    others = sorted({one.namespace for one in stack if one.role is Role.PLUGIN} - named(settings))
    pods = [*pods, *[pod for one in others async for pod in _programs(objects, one, UNFINISHED)]]
    read = [] if objects.lacks(NAMESPACE) else [await objects.one(NAMESPACE, None, one) for one in others]
    namespaces = [Namespace(word(one, "metadata", "name"), part(one, "metadata", "labels")) for one in read if one]
    return trust(Evidence(None, settings, (), namespaces, nodes, stack, pods))


async def _node(objects: Objects, node: Node, gpus: GpuResources) -> SeenNode:
    raw = None if objects.lacks(NODE) else await objects.one(NODE, None, node.name)
    return (None if raw is None else seen_node(raw, gpus)) or _of_facts(node, gpus)


def _of_facts(node: Node, gpus: GpuResources) -> SeenNode:
    offered = {name: units for name, units in node.resources.items() if names_gpu(name, gpus)}
    return SeenNode(node.name, node.labels, node.taints, offered, offered, {})


async def _programs(objects: Objects, namespace: str | None, fields: str) -> AsyncIterator[ProgramPod]:
    async for page in objects.pages(POD, namespace, {"fieldSelector": fields}):
        for one in page:
            role = role_of(one.get("spec") or {})
            if role is not None and (one.get("status") or {}).get("phase") not in FINISHED:
                yield program_pod(one, role)


def _on(program: Program, node: SeenNode, pods: Sequence[ProgramPod]) -> Program:
    """The DaemonSet with the pods of one node alone."""
    own = [one for one in pods if (one.namespace, one.owner) == (program.namespace, program.name)]
    wanted = int(bool(own) or program.covers(node))
    return replace(program, desired=wanted, ready=sum(one.is_ready for one in own))


def _link(name: str, checks: Sequence[Check], seen: Seen) -> Link:
    if checks is daemons.CHECKS and not any(seen.mps_nodes()):
        return Link(name, State.NOT_NEEDED)
    lacking = dict.fromkeys(seen.lacking[part] for one in checks for part in one.needs if part in seen.lacking)
    if lacking:
        return Link(name, State.NOT_SEEN, None, ", ".join(lacking))
    # What a presumed plugin of the node does says more than that nothing shows whose it is.
    is_presumed = seen.trust.presumed and seen.plugin_of(seen.nodes[0]) is not None
    found = [each for one in checks for each in one.run(seen)]
    found = [one for one in found if not (is_presumed and one.finding == "plugin-missing")]
    first = next((one for one in found if one.severity == "error" or one.finding in _UNREAD), None)
    if first is not None and first.marked(seen.trust.administered).is_of_tenants:
        first = replace(
            first,
            evidence=(
                *first.evidence,
                f"tenants may use namespace {first.namespaces[0]}, whose stack is presumed to be right",
            ),
        )
    return Link(name, State.WELL if first is None else State.BROKEN, first)
