"""The rules of each namespace: settings and facts prepared once, so that the request path only looks them up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from webhook.policy.placement.cluster_nodes import ClusterNodes
from webhook.policy.placement.facts import Facts, Shown
from webhook.policy.placement.memory import ResourceShares
from webhook.policy.placement.node_classes import PluginConfigs, SharingStrategy
from webhook.policy.placement.node_index import NodeIndex
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.taints import as_raw
from webhook.policy.pods.gpu_resources import GpuResources, KnownNames
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import (
    Injections,
    Limits,
    PipeDirectoryInjection,
    PipeMountInjection,
    Resource,
    Settings,
)
from webhook.policy.verdict import Severity

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import PluginConfig
    from webhook.policy.settings.elements import NamespaceRule


ENFORCE_LABEL = "pod-security.kubernetes.io/enforce"
"""The label by which a namespace chooses its Pod Security level."""

Cap: TypeAlias = Literal["off", "audit", "warn", "enforce"]

MODES: Final[tuple[Cap, ...]] = ("off", "audit", "warn", "enforce")
"""The modes, the lowest first. A running installation can be off; settings cannot."""

MODE_CAP: Final[Mapping[Cap, Severity]] = dict(
    zip(MODES, (Severity.OFF, Severity.AUDIT, Severity.WARN, Severity.DENY), strict=True)
)
"""The highest severity by mode."""

_INJECTED = ("off", "report", "on")
"""The modes of injections, the lowest first."""

_MOST_INJECTED: Final[Mapping[Cap, str]] = {"off": "off", "audit": "report", "warn": "on", "enforce": "on"}
"""The highest mode of injections by cap: an installation that is capped to audit changes no pod."""


class Rules:
    """The settings that apply in one namespace.

    `namespace_labels` is None when they are unknown. `exemption` says why the namespace is exempt, None if it is not.
    `allows_hostpath`: its Pod Security level allows hostPath volumes; an unknown namespace counts as one without it.
    `severities` holds every check by its code, `active` those that are not off. `container_limits` are the limits on
    the replicas of a container, `least_limit` is the smallest of them, in billionths; `per_pod` is that of a pod.
    `injections` are those of the settings, all disabled where their mode is off; `reports_injections`: they are
    computed and reported, but not made. `warns`: the mode allows warnings.
    `has_default_queue`: Kueue queues Jobs that name no queue.
    `trusts_markers`: markers of other schedulers count.
    """

    def __init__(self, ruleset: Ruleset, namespace: str) -> None:
        settings = self.settings = ruleset.settings
        self.facts = ruleset.facts
        self.namespace_labels = ruleset.namespaces.get(namespace)
        self.exemption = _exemption(settings, namespace, self.namespace_labels)
        rule = next((one for one in settings.namespaces if _matches(one, namespace, self.namespace_labels)), None)
        mode = min(ruleset.cap, (rule and rule.mode) or settings.mode, key=MODES.index)
        cap = MODE_CAP[mode]
        self.warns = cap >= Severity.WARN
        asked = (rule and rule.injections.mode) or settings.injections.mode or ("on" if self.warns else "report")
        injects = min(asked, _MOST_INJECTED[ruleset.cap], key=_INJECTED.index)
        self.injections = settings.injections if injects != "off" else _disabled(settings.injections)
        self.reports_injections = injects == "report"
        named = {**settings.severities, **(rule.severities if rule else {})}
        wanted = {**ruleset.defaults, **{code: Severity[name.upper()] for code, name in named.items()}}
        self.trusts_markers = ruleset.trusts_markers
        self.severities = {code: min(severity, cap) for code, severity in wanted.items()}
        self.active = frozenset(code for code, severity in self.severities.items() if severity is not Severity.OFF)
        self.container_limits = ruleset.container_limits
        self.least_limit = ruleset.least_limit
        self.per_pod = settings.limits.per_pod
        level = (self.namespace_labels or {}).get(ENFORCE_LABEL, settings.pod_security.unlabelled)
        self.allows_hostpath = level == "privileged"
        queues = settings.workloads.default_queue
        self.has_default_queue = namespace in ruleset.default_queues if queues is None else queues
        self.suppressing_annotation = settings.suppress.annotation
        self.resources = ruleset.gpus.by_name
        self.resource = ruleset.gpus.find
        self.annotation_requests = settings.requests.annotations
        self.annotated_resource = ruleset.annotated_resource
        self.known_names = ruleset.known_names
        self.nodes = ruleset.nodes
        self.memory_shares = ruleset.memory_shares
        self.runtime_classes = ruleset.runtime_classes
        self.pipes = ruleset.pipes
        self._tolerations = ruleset.tolerations

    def tolerations(self, requests: GpuRequests) -> Sequence[dict[str, str]]:
        """The tolerations of the settings for a pod with these requests, in the form of its spec.

        They do not depend on the mode: an update restores them in each.
        """
        settings = self.settings.injections.tolerations
        if not requests.positive or not settings.enabled:
            return ()
        if not requests.has_renamed or not settings.resource_name:
            return self._tolerations
        names = dict.fromkeys(request.resource.name for request in requests.positive if request.resource.renamed)
        wanted = [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in names]
        return [*self._tolerations, *(raw for raw in wanted if raw not in self._tolerations)]


def _disabled(injections: Injections) -> Injections:
    """The same injections, none of which applies."""
    sections = {one.name: getattr(injections, one.name) for one in fields(injections)}
    return replace(
        injections,
        **{name: replace(section, enabled=False) for name, section in sections.items() if hasattr(section, "enabled")},
    )


NAMESPACE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
"""The names that the API server accepts for a namespace: DNS labels (RFC 1123)."""


class Ruleset:
    """Settings and facts as one snapshot, which makes the rules of each namespace once from all that they share.

    `defaults` holds the default severity of each check by its code. `nodes`: the nodes where pods can run.
    `trusts_markers`: nothing at all describes the cluster, so that a pod's markers of another scheduler count. A
    command sets it before it evaluates. `cap`: the highest mode in any namespace. `endings` holds the end of a denial
    in the cluster by its first code.
    """

    _REMEMBERED = 4096

    def __init__(
        self, settings: Settings, facts: Facts, defaults: Mapping[str, Severity], nodes: ClusterNodes, shown: Shown
    ) -> None:
        self.settings = settings
        self.facts = facts
        self.defaults = defaults
        self.nodes = nodes
        self.trusts_markers = False
        self.cap: Cap = "enforce"
        self.gpus = GpuResources(settings.resources)
        self.annotated_resource = _annotated(settings)
        self.known_names = KnownNames(self.gpus.by_name)
        self.memory_shares = {each.name: ResourceShares.of(nodes.index, each.name) for each in settings.resources}
        self.container_limits = ContainerLimits(settings.limits, nodes.classes.configs)
        self.least_limit = self.container_limits.least
        self.default_queues = frozenset(facts.default_queues or ())
        self.namespaces = {known.name: known.labels for known in reversed(facts.namespaces or ())}
        classes = shown.runtime_classes if facts.runtime_classes is None else facts.runtime_classes
        self.runtime_classes = {known.name: known for known in reversed(classes)}
        shares = (*settings.resources, *((self.annotated_resource,) if self.annotated_resource else ()))
        self.pipes = {
            resource.name: Pipe(resource.name, settings.injections.pipe_directory, settings.injections.pipe_mount)
            for resource in shares
            if resource.kind == "shared"
        }
        self.tolerations = [as_raw(toleration) for toleration in settings.injections.tolerations.add]
        self.endings = {code: _ending(settings, code) for code in defaults}
        self._rules: dict[str, Rules] = {}

    def capped(self, cap: Cap) -> Ruleset:
        """The same settings and facts under another cap."""
        other = copy(self)
        vars(other).update(cap=cap, _rules={})
        return other

    def of(self, namespace: str) -> Rules:
        """The rules of a namespace. Rules for a name that no namespace can have are not kept."""
        rules = self._rules.get(namespace)
        if rules is None:
            rules = Rules(self, namespace)
            if NAMESPACE_NAME.fullmatch(namespace):
                if len(self._rules) >= self._REMEMBERED:
                    self._rules.clear()
                self._rules[namespace] = rules
        return rules


def _ending(settings: Settings, code: str) -> str:
    """The lines at the end of a denial: where to read more about its first code, then the suffix of the settings."""
    more = f"gpushare-webhook explain {code}"
    if settings.explain_url is not None:
        more = settings.explain_url.replace("{code}", code.lower()).replace("{CODE}", code)
    return more if settings.message_suffix is None else f"{more}\n{settings.message_suffix}"


def _annotated(settings: Settings) -> Resource | None:
    """The resource of which annotations ask for a share: the first shared one, else the first of whole cards."""
    if not settings.requests.annotations:
        return None
    shared = next((one for one in settings.resources if one.kind == "shared"), None)
    whole = next((one for one in settings.resources if one.kind == "whole"), None)
    return shared or (whole and replace(whole, kind="shared"))


def _matches(rule: NamespaceRule, name: str, labels: Mapping[str, str] | None) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in rule.names):
        return True
    if rule.selector is None or labels is None:
        return False
    return rule.selector.selects(labels)


def _exemption(settings: Settings, namespace: str, labels: Mapping[str, str] | None) -> str | None:
    if namespace in settings.exempt.namespaces:
        return "exempt: the namespace is listed in exempt.namespaces"
    if settings.exempt.label is not None and labels is not None and carries(labels, settings.exempt.label):
        return "exempt: the namespace has the label of exempt.label"
    return None


def carries(labels: Mapping[str, Any], wanted: str) -> bool:
    """Whether labels or annotations contain `key=value`; a bare `key` means `key=true`."""
    key, _, value = wanted.partition("=")
    return labels.get(key) == (value or "true")


class ContainerLimits:
    """The limits by strategy and nodes. None stands for no limit.

    `static`: those of the settings. `depend_on_nodes`: the plugin's configuration decides, which nodes may differ in.
    """

    __slots__ = ("_configs", "_everywhere", "depend_on_nodes", "static")

    def __init__(self, limits: Limits, configs: PluginConfigs) -> None:
        self.static: dict[SharingStrategy, int | None] = {
            "mps": limits.per_container,
            "time-slicing": limits.time_slicing.per_container,
        }
        self._configs = configs
        self.depend_on_nodes = limits.from_device_plugin and configs.plugin is not None
        self._everywhere = {strategy: configs.accept_several_everywhere(strategy) for strategy in self.static}

    @property
    def least(self) -> float:
        """The smallest limit that any request could meet, in billionths."""
        in_force = [limit for limit in self.static.values() if limit is not None]
        return NANO if self.depend_on_nodes else min(in_force, default=inf) * NANO

    def of_config(self, config: PluginConfig) -> int | None:
        """The limit of nodes with a configuration that shares cards."""
        if config.strategy == "none":
            return None
        if not self.depend_on_nodes:
            return self.static[config.strategy]
        return self.limit(config.strategy, self._configs.accept_several(config))

    def allow_several(self, strategy: SharingStrategy, resource: str, nodes: Nodes, index: NodeIndex) -> bool | None:
        """Whether the plugin accepts several replicas on all of these nodes, which share the resource; None: unknown.

        Without nodes, on every node.
        """
        if not nodes:
            return self._everywhere[strategy]
        if nodes & index.accepting(strategy, resource, several=False):
            return False
        if not nodes & ~index.accepting(strategy, resource, several=True):
            return True
        return None if self._configs.have_names else self._everywhere[strategy]

    def limit(self, strategy: SharingStrategy, several: bool | None) -> int | None:
        """The limit: none where the plugin accepts several replicas, 1 where not, that of the settings if unknown."""
        if several is None:
            return self.static[strategy]
        return None if several else 1


_LABEL_LIMIT = 63


class Pipe:
    """The pipe directory of one resource, through which CUDA clients connect to the MPS control daemon.

    `path` leads there in the container, `host` on the node; the values equal those that the device plugin's Allocate
    returns (NVIDIA/k8s-device-plugin internal/plugin/mps.go). `volume` is the name of its volume.
    `clean` and `clean_host` are these paths without double or trailing slashes; `below` is the prefix of paths below.
    """

    __slots__ = ("below", "clean", "clean_host", "host", "path", "source", "volume")

    def __init__(self, resource: str, directory: PipeDirectoryInjection, mount: PipeMountInjection) -> None:
        below = f"/{resource}/pipe" if directory.per_resource else ""
        self.path = directory.container_root.rstrip("/") + below
        self.host = mount.mps_root.rstrip("/") + below
        self.clean = clean_path(self.path)
        self.below = self.clean + "/"
        self.clean_host = clean_path(self.host)
        self.volume = volume_name(resource)
        self.source = {"path": self.host, "type": mount.type} if mount.type else {"path": self.host}


def volume_name(resource: str) -> str:
    """The name of the volume: a DNS label, shortened with a hash."""
    letters = (char if char.isascii() and char.isalnum() else "-" for char in resource.lower())
    label = f"gpushare-mps-{''.join(letters)}".strip("-")
    if len(label) <= _LABEL_LIMIT:
        return label
    from hashlib import sha256  # loads OpenSSL, for names that hardly occur

    digest = sha256(resource.encode()).hexdigest()[:8]
    return f"{label[: _LABEL_LIMIT - 9].rstrip('-')}-{digest}"
