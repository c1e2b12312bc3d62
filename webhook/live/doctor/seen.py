"""A cluster as `doctor` sees it: small records of nodes, of the GPU stack, of pods and of our installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from webhook.cluster.reading import Owner
from webhook.cluster.stack import Configurations, Program, ProgramPod, Role, SeenNode
from webhook.live.remedy import Advice, Remedy
from webhook.live.words import qualified
from webhook.policy.commands import Command
from webhook.policy.placement.cluster_objects import NO_CONFIG, PluginConfig
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CONFIG_LABEL
from webhook.policy.settings.settings import Settings

Part = Literal[
    "nodes",
    "daemonsets",
    "pods",
    "configurations",
    "namespaces",
    "runtime classes",
    "events",
    "quotas",
    "templates",
    "webhook configurations",
    "installation",
    "endpoints",
    "settings",
    "guard",
    "certificates",
    "served certificates",
]
"""A part of the cluster that a check needs."""


def naming(where: str) -> Command:
    """The command that names the DaemonSet of the device plugin, which is `namespace/name`."""
    namespace, _, name = where.partition("/")
    return Command(
        "kubectl", "gpushare", "doctor", "--device-plugin-daemonset", qualified("daemonset", namespace, name)
    )


class Unconfirmed(NamedTuple):
    """A program that looks like one of the GPU stack, in a namespace that tenants may use.

    `where` is `namespace/name` of its owner, and `nodes` are those with GPUs on which its pods run. `registers`: its
    pods mount the folder of the kubelet as a plugin.
    """

    role: Role
    namespace: str
    where: str
    is_daemon_set: bool
    registers: bool
    nodes: tuple[str, ...]


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


class Chosen(NamedTuple):
    """The configuration of a node: the ConfigMap, the key, and the meaning; None if no key or no meaning is known."""

    where: str
    key: str
    config: PluginConfig | None
    is_known: bool


@dataclass(slots=True)
class OwnerPods:
    """Pods of one owner in a namespace: their number, and the node and the message of the first one."""

    count: int = 0
    node: str = ""
    detail: str = ""


@dataclass(slots=True)
class SeenPods:
    """What the pods show: the stack's pods, and by namespace and owner those of others that matter.

    `classes` has pods by their RuntimeClass, and `asking` those that ask for GPUs by namespace. `pending` has the node
    and the RuntimeClass of pods with one that wait, by namespace and name.
    """

    programs: list[ProgramPod] = field(default_factory=list)
    rejected: dict[tuple[str, Owner], OwnerPods] = field(default_factory=dict)
    joining: dict[tuple[str, Owner], OwnerPods] = field(default_factory=dict)
    classes: dict[str, OwnerPods] = field(default_factory=dict)
    asking: dict[str, OwnerPods] = field(default_factory=dict)
    pending: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)


class SeenEvent(NamedTuple):
    """An event about a pod, or about the controller of pods that cannot be created."""

    reason: str
    namespace: str
    kind: str
    name: str
    message: str


class Limits(NamedTuple):
    """A ResourceQuota or a LimitRange that names a GPU resource."""

    kind: str
    namespace: str
    name: str
    manifest: Mapping[str, Any]


class Template(NamedTuple):
    """A group of nodes that an autoscaler may add: what it says that each node offers, and its labels."""

    namespace: str
    where: str
    resources: Mapping[str, int]
    labels: Mapping[str, str]
    edit: str


class Entry(NamedTuple):
    """One webhook of a configuration. `service` is `namespace/name`, empty for a URL."""

    name: str
    service: str
    has_bundle: bool
    selector: Mapping[str, Any]
    concerns_pods: bool


class Hook(NamedTuple):
    """A webhook configuration of gpushare-webhook."""

    kind: Literal["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    name: str
    entries: tuple[Entry, ...]


class Replica(NamedTuple):
    """A pod of our Deployment.

    `settings` is the digest of its settings, and `ends` the end of the certificate that it serves; None if unknown.
    """

    name: str
    image: str
    is_ready: bool
    detail: str
    settings: str | None = None
    ends: datetime | None = None


class Expiry(NamedTuple):
    """A certificate: where it is, when it ends, and how long before that something is wrong if it was not renewed.

    `is_served`: a replica serves it; otherwise it is that of an authority.
    """

    where: str
    ends: datetime
    notice: timedelta
    is_served: bool = False


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation of this webhook. `wanted` and `ready` count replicas; `wanted` is None without a Deployment.

    `endpoints` counts ready addresses of its Service; None if that is unknown. `mode` is the cap that the annotation of
    its ServiceAccount sets; None without one. `absent` names its objects for cap and guard that do not exist.
    `settings` are the installed ones; None if they cannot be read.
    """

    namespace: str
    name: str
    wanted: int | None = None
    ready: int = 0
    replicas: tuple[Replica, ...] = ()
    endpoints: int | None = None
    mode: str | None = None
    absent: tuple[str, ...] = ()
    settings: Settings | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was read of a cluster. `lacking` says for a part why it is not known.

    `programs` and the programs of `pods` are those that count; `unconfirmed` are the others. `plugins` has the
    namespace and the owner of each plugin's pods by node.
    """

    settings: Settings
    facts: Facts
    now: datetime
    trust: Trust
    nodes: tuple[SeenNode, ...] = ()
    programs: tuple[Program, ...] = ()
    configurations: Mapping[str, Configurations] = field(default_factory=dict)
    policies: tuple[Mapping[str, Any], ...] = ()
    pods: SeenPods = field(default_factory=SeenPods)
    plugins: Mapping[str, Set[tuple[str, str]]] = field(default_factory=dict)
    unconfirmed: tuple[Unconfirmed, ...] = ()
    events: tuple[SeenEvent, ...] = ()
    limits: tuple[Limits, ...] = ()
    templates: tuple[Template, ...] = ()
    mounting_policies: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    installations: tuple[Installation, ...] = ()
    unconfirmed_installations: tuple[str, ...] = ()
    expiries: tuple[Expiry, ...] = ()
    objects_named: Mapping[str, bool] = field(default_factory=dict)
    lacking: Mapping[Part, str] = field(default_factory=dict)

    def of(self, role: Role) -> list[Program]:
        """The DaemonSets of one program."""
        return [one for one in self.programs if one.role is role]

    def administered(self, role: Role) -> list[Program]:
        """The DaemonSets of one program in namespaces that administrators alone use."""
        return [one for one in self.of(role) if one.namespace in self.trust.administered]

    def of_nodes(self, one: Program, remedy: Advice) -> Advice:
        """A remedy that changes nodes as a DaemonSet wants it; how to confirm one that a tenant may have written."""
        if one.namespace in self.trust.administered:
            return remedy
        return Remedy("if you installed the DaemonSet, name it: ", naming(str(one)))

    def plugin_of(self, node: SeenNode) -> Program | None:
        """The DaemonSet of the plugin whose pods run on the node, or else would without its taints."""
        plugins = self.of(Role.PLUGIN)
        running = self.plugins.get(node.name, ())
        there = [one for one in plugins if (one.namespace, one.name) in running]
        there = there or [one for one in plugins if one.selects(node)]
        return there[0] if there else None

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
        label = node.labels.get(CONFIG_LABEL)
        key = plugin.key or label or (None if plugin.default is None else plugin.default.choose(found.texts.keys()))
        if key is None:
            return None
        if key == "":
            return Chosen(found.where, "", NO_CONFIG, True)
        text = found.texts.get(key)
        return Chosen(found.where, key, None if text is None else text.config, text is not None)

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
            return node.is_labelled_mps
        return chosen.config.strategy == "mps"
