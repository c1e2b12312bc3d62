"""The GPU stack that counts: whose word about nodes does, and the plugin and the configuration of each node.

Any author of pods may call a DaemonSet, its containers and its images as NVIDIA does. A priority class proves nothing:
pods of every namespace may have `system-node-critical` unless a quota forbids it (kubernetes/kubernetes#76310).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

from webhook.cluster.device_plugin import Configurations, configurations
from webhook.cluster.objects import CONFIG_MAP, DAEMON_SET, Objects, all_of
from webhook.cluster.reading import part
from webhook.cluster.stack import Program, ProgramPod, Role, SeenNode, feature_worker, program
from webhook.policy.placement.cluster_objects import NO_CONFIG, Namespace, PluginConfig
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CAPABLE, CONFIG_LABEL, STRATEGY
from webhook.policy.settings.settings import Settings
from webhook.policy.snapshot import ENFORCE_LABEL

ALWAYS: Final = frozenset({"kube-system", "gpushare-webhook"})
"""The namespace of Kubernetes itself, and that of this webhook in every page."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose word counts. `administered` has the namespaces that administrators alone use.

    `presumed` is one more whose GPU stack counts, since none of those has a device plugin; empty if there is none.
    """

    administered: frozenset[str]
    presumed: str = ""

    def counts(self, namespace: str) -> bool:
        """Whether the GPU stack of a namespace counts."""
        return namespace in self.administered or namespace == self.presumed


def trust(
    administered: Iterable[str],
    namespaces: Iterable[Namespace],
    nodes: Iterable[SeenNode],
    programs: Sequence[Program],
    pods: Sequence[ProgramPod],
) -> Trust:
    """Return the namespaces of administrators, and one that is presumed to be if none of those has a device plugin.

    `programs` and `pods` are all that look like some of the GPU stack. A namespace is of administrators because it is
    named, or because a device plugin runs there on a GPU node, mounts the kubelet's folder, and the namespace enforces
    the level `privileged`: only an administrator can set that label, and the other levels forbid the mount. Presumed
    is the namespace whose plugin mounts the folder, or runs where GPUs are offered; of several, the oldest DaemonSet
    counts, since the API server sets its date.
    """
    offering = {node.name: any(node.offered.values()) for node in nodes}
    running = [one for one in pods if one.role is Role.PLUGIN and one.node in offering]
    privileged = {one.name for one in namespaces if one.labels.get(ENFORCE_LABEL) == "privileged"}
    believed = privileged.intersection(one.namespace for one in running if one.mounts_kubelet)
    known = believed.union(administered)
    created = {(one.namespace, one.name): one.created for one in programs if one.role is Role.PLUGIN}
    presumed = [
        (not one.mounts_kubelet, created[one.namespace, one.owner], one.namespace)
        for one in running
        if (one.namespace, one.owner) in created and (one.mounts_kubelet or offering[one.node])
    ]
    plugins = {space for space, _ in created} | {one.namespace for one in pods if one.role is Role.PLUGIN}
    return Trust(frozenset(known), min(presumed)[-1] if presumed and known.isdisjoint(plugins) else "")


def named(settings: Settings, plugin: str | None = None) -> set[str]:
    """The namespaces that the caller or the settings name. `plugin` is `namespace/name` of the plugin's DaemonSet."""
    source = settings.facts.device_plugin
    objects = [plugin, *(() if source is None else (source.daemon_set, *source.config_maps))]
    return {*ALWAYS, *settings.exempt.namespaces, *(one.partition("/")[0] for one in objects if one)}


class Chosen(NamedTuple):
    """The configuration of a node: the ConfigMap, the key, and the meaning; None if no key or no meaning is known."""

    where: str
    key: str
    config: PluginConfig | None
    is_known: bool


Part = Literal[
    "nodes",
    "daemonsets",
    "pods",
    "configurations",
    "namespaces",
    "runtime classes",
    "events",
    "quotas",
    "webhook configurations",
    "installation",
    "endpoints",
    "settings",
    "guard",
    "accounts",
    "policies",
    "certificates",
    "former renders",
]
"""A part of a cluster that an answer may depend on."""


@dataclass(frozen=True)
class Stack:
    """GPU nodes, and the programs and pods of the GPU stack that count. `configurations` are those of the plugins.

    `lacking` says for a part of the cluster why it is not known.
    """

    trust: Trust
    nodes: Sequence[SeenNode]
    programs: Sequence[Program]
    program_pods: Sequence[ProgramPod]
    configurations: Mapping[str, Configurations]
    facts: Facts
    lacking: Mapping[Part, str]

    @cached_property
    def plugins(self) -> dict[str, set[tuple[str, str]]]:
        """The namespace and the owner of each plugin's pods by node."""
        found: dict[str, set[tuple[str, str]]] = {}
        for one in self.program_pods:
            if one.role is Role.PLUGIN and one.node:
                found.setdefault(one.node, set()).add((one.namespace, one.owner or one.name))
        return found

    def of(self, role: Role) -> list[Program]:
        """The DaemonSets of one program."""
        return [one for one in self.programs if one.role is role]

    def administered(self, role: Role) -> list[Program]:
        """The DaemonSets of one program in namespaces that administrators alone use."""
        return [one for one in self.of(role) if one.namespace in self.trust.administered]

    def plugin_of(self, node: SeenNode) -> Program | None:
        """The DaemonSet of the plugin whose pods run on the node, or else would without its taints."""
        plugins, running = self.of(Role.PLUGIN), self.plugins.get(node.name, ())
        there = (one for one in plugins if (one.namespace, one.name) in running)
        return next(there, None) or next((one for one in plugins if one.selects(node)), None)

    def chosen(self, node: SeenNode) -> Chosen | None:
        """The configuration of a node, by its label or the default; None if nothing is known about it."""
        plugin = self.plugin_of(node)
        if plugin is None:
            return None
        if plugin.is_unconfigured:
            return Chosen("", "", NO_CONFIG, True)
        found = self.configurations.get(plugin.maps)
        if found is None or found.texts is None:
            return None
        key = plugin.key or node.labels.get(CONFIG_LABEL) or (plugin.default and plugin.default.choose(found.texts))
        if key is None:
            return None
        if key == "":
            return Chosen(found.where, "", NO_CONFIG, True)
        text = found.texts.get(key)
        return Chosen(found.where, key, text and text.config, text is not None)

    @cached_property
    def chosen_by(self) -> Sequence[tuple[SeenNode, Program | None, Chosen | None]]:
        """Each node with its plugin and its configuration."""
        return [(node, self.plugin_of(node), self.chosen(node)) for node in self.nodes]

    def mps_nodes(self) -> Iterator[SeenNode]:
        """The nodes that share through MPS."""
        return filter(self.is_mps, self.nodes)

    def is_mps(self, node: SeenNode) -> bool:
        """Whether a node shares through MPS by its configuration, or by its labels where that is unknown.

        Only an administrator sets labels of nodes, so that they count more than a plugin that is presumed to be right.
        """
        if node.runs_stack_itself:
            return False
        chosen = None if self.trust.presumed else self.chosen(node)
        if chosen is None or chosen.config is None:
            return node.labels.get(CAPABLE) == "true" or node.labels.get(STRATEGY) == "mps"
        return chosen.config.strategy == "mps"


async def programs_of(objects: Objects, *, with_features: bool = False) -> AsyncIterator[Program]:
    """The DaemonSets of the GPU stack, each with what it reads as its configuration.

    `with_features`: and the workers of node feature discovery.
    """
    async for found in all_of(objects, DAEMON_SET):
        if with_features and (worker := feature_worker(found)) is not None:
            yield worker
        one = program(found)
        if one is not None and one.deciding:
            read = {name: await objects.one(CONFIG_MAP, one.namespace, name) for name in one.deciding}
            if not any(
                config_map is None and objects.hides(CONFIG_MAP, one.namespace, name)
                for name, config_map in read.items()
            ):
                one = program(found, {name: part(config_map, "data") for name, config_map in read.items()})
        if one is not None:
            yield one


_BINARY: Final = "binaryData is not read: put the text of its configurations into data"


async def configurations_of(objects: Objects, programs: Iterable[Program]) -> dict[str, Configurations]:
    """The configurations that plugins read, and those that they get and do not read, by ConfigMap.

    A ConfigMap of which a plugin reads `binaryData` is left out, since part of its configurations is not known.
    """
    found = {}
    for one in programs:
        for name in (one.config_map, *one.unread) if one.role is Role.PLUGIN else ():
            where = f"{one.namespace}/{name}"
            if name and where not in found:
                read = await objects.one(CONFIG_MAP, one.namespace, name)
                if name == one.config_map and part(read, "binaryData"):
                    objects.leave_out(f"configmap {where}", _BINARY)
                elif read is not None or not objects.hides(CONFIG_MAP, one.namespace, name):
                    found[where] = configurations(where, read, one.mig_strategy)
    return found
