"""A cluster as `doctor` sees it: small records of nodes, of the GPU stack, of pods and of our installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Literal, NamedTuple

from webhook.live.pods import Owner
from webhook.policy.placement.cluster_objects import NO_CONFIG, PluginConfig, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CAPABLE, CONFIG_LABEL, STRATEGY
from webhook.policy.placement.selector import NAME_FIELD, Requirement
from webhook.policy.placement.taints import Tolerations, is_lifecycle
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.defaults import DefaultRule

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
    "certificates",
    "served certificates",
]
"""A part of the cluster that a check needs."""

MOST_DETAIL = 300
"""Characters that are kept of a message."""


class Role(Enum):
    """A program of the GPU stack. The value names it in messages."""

    PLUGIN = "device plugin"
    DAEMON = "MPS control daemon"
    DISCOVERY = "GPU feature discovery"


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node with GPUs, or with labels that say so. `offered` and `capacity` hold GPU resources in whole units."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    offered: Mapping[str, int]
    capacity: Mapping[str, int]
    annotations: Mapping[str, str]
    image: str = ""

    @property
    def runs_stack_itself(self) -> bool:
        """Whether the plugin and the daemon are programs of the host (bottlerocket-os/bottlerocket#4673)."""
        return self.image.startswith("Bottlerocket")

    @property
    def is_labelled_mps(self) -> bool:
        return self.labels.get(CAPABLE) == "true" or self.labels.get(STRATEGY) == "mps"


@dataclass(frozen=True, slots=True)
class Program:
    """A DaemonSet of the GPU stack.

    `requirement` and `tolerations` are those of its pods. `config_map` is the name of the ConfigMap with the plugin's
    configurations, empty without one; `default` says how a node without the label gets its own; None if no
    config-manager chooses. `is_unconfigured`: nothing gives the plugin a configuration.
    """

    role: Role
    namespace: str
    name: str
    desired: int
    ready: int
    requirement: Requirement | None
    tolerations: Tolerations
    version: str | None = None
    runtime_class: str = ""
    config_map: str = ""
    default: DefaultRule | None = None
    mig_strategy: str | None = None
    is_unconfigured: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def maps(self) -> str:
        """The ConfigMap with its namespace."""
        return f"{self.namespace}/{self.config_map}"

    def selects(self, node: SeenNode) -> bool:
        """Whether the selector and the required affinity of its pods admit the node."""
        if self.requirement is None:
            return True
        labels = {**node.labels, NAME_FIELD: node.name}
        if any(labels.get(key) != value for key, value in self.requirement.selector.items()):
            return False
        terms = self.requirement.terms
        return terms is None or any(
            all(constraint.holds(labels.get(key)) for key, constraint in term.items()) for term in terms
        )

    def repelled(self, node: SeenNode) -> Taint | None:
        """The first lasting taint of the node that its pods do not tolerate."""
        for taint in node.taints:
            lasts = taint.effect != "PreferNoSchedule" and not is_lifecycle(taint.key)
            if lasts and not self.tolerations.tolerate(taint):
                return taint
        return None

    def covers(self, node: SeenNode) -> bool:
        """Whether it wants a pod on the node."""
        return self.selects(node) and self.repelled(node) is None


class ProgramPod(NamedTuple):
    """A pod of the GPU stack. `owner` is the name of its DaemonSet; `detail` says why the pod is not ready."""

    role: Role
    namespace: str
    name: str
    owner: str
    node: str
    is_ready: bool
    detail: str = ""


class Text(NamedTuple):
    """A configuration of the plugin: the value of its document, and its meaning; None if the plugin refuses it."""

    value: object
    config: PluginConfig | None
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Configurations:
    """A ConfigMap with configurations of the plugin, by `namespace/name`. `texts` is None if it does not exist."""

    where: str
    texts: Mapping[str, Text] | None


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

    `plugins` has the owners of the plugin's pods by node. `classes` has pods by their RuntimeClass, and `asking` those
    that ask for GPUs by namespace. `pending` has the namespaces and names of pods that wait.
    """

    programs: list[ProgramPod] = field(default_factory=list)
    plugins: dict[str, set[str]] = field(default_factory=dict)
    rejected: dict[tuple[str, Owner], OwnerPods] = field(default_factory=dict)
    joining: dict[tuple[str, Owner], OwnerPods] = field(default_factory=dict)
    classes: dict[str, OwnerPods] = field(default_factory=dict)
    asking: dict[str, OwnerPods] = field(default_factory=dict)
    pending: set[tuple[str, str]] = field(default_factory=set)


class SeenEvent(NamedTuple):
    """An event about a pod, or about the controller of pods that cannot be created."""

    reason: str
    namespace: str
    kind: str
    name: str
    host: str
    message: str


class Limits(NamedTuple):
    """A ResourceQuota or a LimitRange that names a GPU resource."""

    kind: str
    namespace: str
    name: str
    manifest: Mapping[str, Any]


class Template(NamedTuple):
    """A group of nodes that an autoscaler may add: what it says that each node offers, and its labels."""

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
    its ConfigMap sets; None without one. `settings` are the installed ones; None if they cannot be read.
    """

    namespace: str
    name: str
    wanted: int | None = None
    ready: int = 0
    replicas: tuple[Replica, ...] = ()
    endpoints: int | None = None
    mode: str | None = None
    settings: Settings | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was read of a cluster. `lacking` says for a part why it is not known."""

    settings: Settings
    facts: Facts
    now: datetime
    nodes: tuple[SeenNode, ...] = ()
    programs: tuple[Program, ...] = ()
    configurations: Mapping[str, Configurations] = field(default_factory=dict)
    policies: tuple[Mapping[str, Any], ...] = ()
    pods: SeenPods = field(default_factory=SeenPods)
    events: tuple[SeenEvent, ...] = ()
    limits: tuple[Limits, ...] = ()
    templates: tuple[Template, ...] = ()
    mounting_policies: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    installations: tuple[Installation, ...] = ()
    expiries: tuple[Expiry, ...] = ()
    objects_named: Mapping[str, bool] = field(default_factory=dict)
    lacking: Mapping[Part, str] = field(default_factory=dict)

    def of(self, role: Role) -> list[Program]:
        """The DaemonSets of one program."""
        return [one for one in self.programs if one.role is role]

    def plugin_of(self, node: SeenNode) -> Program | None:
        """The DaemonSet of the plugin whose pods run on the node, or else would without its taints."""
        plugins = self.of(Role.PLUGIN)
        running = self.pods.plugins.get(node.name, ())
        there = [one for one in plugins if one.name in running] or [one for one in plugins if one.selects(node)]
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
        key = label or (None if plugin.default is None else plugin.default.choose(found.texts.keys()))
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
        """Whether a node shares through MPS by its configuration, or by its labels where that is unknown."""
        if node.runs_stack_itself:
            return False
        chosen = self.chosen(node)
        if chosen is None or chosen.config is None:
            return node.is_labelled_mps
        return chosen.config.strategy == "mps"
