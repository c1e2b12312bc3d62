"""Settings and facts, prepared once so that the request path only looks them up, and what applies in a namespace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from webhook.policy.messages import Command
from webhook.policy.placement.facts import Facts, Shown
from webhook.policy.placement.node_classes import PluginConfigs, SharingStrategy
from webhook.policy.placement.node_index import node_kinds
from webhook.policy.placement.platforms import GKE_SHARING, POD_SECURITY
from webhook.policy.placement.reachability import ClusterNodes, Placement
from webhook.policy.placement.selector import as_raw
from webhook.policy.pods.gpu_resources import KnownNames
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import (
    Exempt,
    Injections,
    Limits,
    PipeDirectoryInjection,
    PipeMountInjection,
    Resource,
    Settings,
)
from webhook.policy.verdict import Severity, Violation

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import LimitScope, NamespaceLimit
    from webhook.policy.settings.elements import NamespaceRule


ENFORCE_LABEL = f"{POD_SECURITY}enforce"
"""The label by which a namespace chooses its Pod Security level."""

Cap: TypeAlias = Literal["off", "audit", "warn", "enforce"]

MODES: Final[tuple[Cap, ...]] = ("off", "audit", "warn", "enforce")
"""The modes, the lowest first. A running installation can be off; settings cannot."""

_INJECTION_MODES = ("off", "report", "on")
"""The modes of injections, the lowest first."""


class NamespacePolicy:
    """What applies in one namespace.

    `namespace_labels` is None when they are unknown. `exemption` says why the namespace is exempt, None if it is not.
    `allows_hostpath`: its Pod Security level allows hostPath volumes; an unknown namespace counts as one without it.
    `severities` holds every check by its code, `active` those that are not off. `warns`: the mode allows warnings.
    `injections` are those of the settings, all disabled where their mode is off; `reports_injections`: they are
    computed and reported, but not made. `has_default_queue`: Kueue queues Jobs that name no queue. `node_selector` is
    that which the namespace adds to pods. `namespace_limits`: the smallest known limit of each resource.

    The rest is the same in every namespace. `trusts_markers`: nothing at all describes the cluster, so that a pod's
    marks of its platform count. `assumes_mps`: any node may share its cards through MPS, even if nothing shows it: the
    settings are those of a webhook, except on GKE, where a label shows it. `reads_classes`: the server reads the
    cluster's RuntimeClasses. `has_guard`: the guard is installed.
    """

    def __init__(self, snapshot: Snapshot, namespace: str) -> None:
        settings = snapshot.settings
        labels = self.namespace_labels = snapshot.namespaces.get(namespace)
        self.exemption = _exemption(settings.exempt, namespace, labels)
        rule = next((rule for rule in settings.namespaces if _matches(rule, namespace, labels)), None)
        ruling = snapshot.ruling(rule)
        self._highest, self._named = ruling.highest, ruling.named
        self.warns, self.severities, self.active = ruling.warns, ruling.severities, ruling.active
        self.injections, self.reports_injections = ruling.injections, ruling.reports_injections
        self.allows_hostpath = (labels or {}).get(ENFORCE_LABEL, settings.pod_security.unlabelled) == "privileged"
        has_queue = settings.workloads.default_queue
        self.has_default_queue = namespace in snapshot.default_queues if has_queue is None else has_queue
        self.trusts_markers = not (snapshot.is_described or snapshot.nodes.are_shown)
        is_described = snapshot.is_described or "mps" in (snapshot.nodes.strategies or ())
        self.assumes_mps = is_described and GKE_SHARING not in settings.placement.mps_labels
        self.exempt_annotation = settings.exempt.annotation
        self.container_limits = snapshot.container_limits
        self.limits, self.users = settings.limits, settings.users
        self.sharing_namespaces = settings.sharing.namespaces
        self.reads_classes = settings.facts.runtime_classes
        self.has_guard = settings.guard.enabled
        self.resources, self.resource = snapshot.gpus.by_name, snapshot.gpus.find
        self.annotation_requests, self.has_fractions = settings.requests.annotations, settings.requests.fractions
        self.annotated_resource = snapshot.annotated_resource
        self.known_names = snapshot.known_names
        self.facts, self.pipes = snapshot.facts, snapshot.pipes
        self.namespace_limits = snapshot.namespace_limits.get(namespace, {})
        self.node_selector = snapshot.node_selectors.get(namespace, {})
        self.nodes, self.node_kinds = snapshot.nodes, snapshot.node_kinds
        self.runtime_classes = snapshot.runtime_classes
        self.injected_class, self.injects_by_cdi = snapshot.injected_class, snapshot.injects_by_cdi
        self._added_tolerations = snapshot.tolerations
        self._toleration_settings = settings.injections.tolerations

    def severity(self, code: str, violation: Violation) -> Severity:
        """The severity of a violation that a check reports."""
        severity = self.severities[code]
        if severity < violation.least and code not in self._named:
            severity = min(violation.least, self._highest)
        return min(severity, violation.cap)

    def tolerations(self, requests: GpuRequests) -> Sequence[dict[str, str]]:
        """The tolerations of the settings for a pod with these requests, in the form of its spec.

        They do not depend on the mode: an update restores them in each.
        """
        if not requests.positive or not self._toleration_settings.enabled:
            return ()
        added = self._added_tolerations
        if not requests.has_renamed or not self._toleration_settings.resource_name:
            return added
        names = dict.fromkeys(request.resource.name for request in requests.positive if request.resource.renamed)
        wanted = [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in names]
        return [*added, *(toleration for toleration in wanted if toleration not in added)]


class _Ruling(NamedTuple):
    """What a policy has by the rule of its namespace; the same object for all namespaces of a rule."""

    highest: Severity
    named: Mapping[str, str]
    warns: bool
    severities: Mapping[str, Severity]
    active: frozenset[str]
    injections: Injections
    reports_injections: bool

    @classmethod
    def of(cls, snapshot: Snapshot, rule: NamespaceRule | None) -> _Ruling:
        settings = snapshot.settings
        highest = Severity(min(map(MODES.index, (snapshot.cap, (rule and rule.mode) or settings.mode))))
        warns = highest >= Severity.WARN
        named = {**settings.severities, **(rule.severities if rule else {})}
        wanted = {**snapshot.defaults, **{code: Severity[name.upper()] for code, name in named.items()}}
        severities = {code: min(severity, highest) for code, severity in wanted.items()}
        active = frozenset(code for code, severity in severities.items() if severity is not Severity.OFF)
        asked = (rule and rule.injections.mode) or settings.injections.mode or ("on" if warns else "report")
        most = {"off": "off", "audit": "report"}.get(snapshot.cap, "on")  # capped to audit, it changes no pod
        injects = min(asked, most, key=_INJECTION_MODES.index)
        injections = settings.injections if injects != "off" else _disabled(settings.injections)
        return cls(highest, named, warns, severities, active, injections, injects == "report")


def _exemption(exempt: Exempt, namespace: str, labels: Mapping[str, str] | None) -> str | None:
    if namespace in exempt.namespaces:
        return "exempt: the namespace is listed in exempt.namespaces"
    if exempt.label is not None and labels is not None and carries(labels, exempt.label):
        return "exempt: the namespace has the label of exempt.label"
    return None


def _matches(rule: NamespaceRule, name: str, labels: Mapping[str, str] | None) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in rule.names):
        return True
    return rule.selector is not None and labels is not None and rule.selector.selects(labels)


def _disabled(injections: Injections) -> Injections:
    """The same injections, none of which applies."""
    sections = {one.name: getattr(injections, one.name) for one in fields(injections)}
    return replace(
        injections,
        **{name: replace(section, enabled=False) for name, section in sections.items() if hasattr(section, "enabled")},
    )


def carries(labels: Mapping[str, Any], wanted: str) -> bool:
    """Whether labels or annotations contain `key=value`; a bare `key` means `key=true`."""
    key, _, value = wanted.partition("=")
    return labels.get(key) == (value or "true")


NAMESPACE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
"""The names that the API server accepts for a namespace: DNS labels (RFC 1123)."""


_CDI_MARKER = "nvidia-legacy"
"""The GPU operator creates this class only with CDI enabled (NVIDIA/gpu-operator controllers/object_controls.go).

`nvidia-cdi` shows nothing: k3s creates one wherever it finds the runtime (k3s-io/k3s#11065).
"""


class Snapshot:
    """Settings and facts as one snapshot, with the policy of each namespace.

    `defaults` holds the default severity of each check by its code. `nodes`: the nodes where pods can run.
    `is_described`: settings or facts say something about the cluster, or a webhook runs there. `cap`: the highest mode
    in any namespace. `endings` holds the end of a denial in the cluster by its first code.

    `injected_class`: the configured runtime class; that of the device plugin's own pods where only that one exists.
    `injects_by_cdi`: the cluster is known to inject devices through CDI, also where the class is not injected.
    """

    _REMEMBERED = 4096

    def __init__(
        self, settings: Settings, facts: Facts, defaults: Mapping[str, Severity], nodes: ClusterNodes, shown: Shown
    ) -> None:
        self.settings = settings
        self.facts = facts
        self.defaults = defaults
        self.nodes = nodes
        self.is_described = True
        self.cap: Cap = "enforce"
        self.gpus = nodes.classes.gpus
        # Of the first shared resource, else of the first whole cards, annotations ask for a share. KAI's fractioning
        # operator shares whole cards, and connects containers to its own daemons itself.
        asks = settings.requests
        candidates = [one for one in settings.resources if one.kind != "mig" and (asks.annotations or asks.fractions)]
        first = min(candidates, key=lambda one: (one.kind == "shared") is asks.fractions, default=None)
        self.annotated_resource = first and replace(first, kind="whole" if asks.fractions else "shared")
        self.known_names = KnownNames(self.gpus.by_name)
        self.node_kinds = {each.name: node_kinds(nodes.index, each.name) for each in settings.resources}
        self.container_limits = ContainerLimits(settings.limits, nodes.classes.configs)
        self.default_queues = frozenset(facts.default_queues or ())
        self.namespaces = {known.name: known.labels for known in reversed(facts.namespaces or ())}
        self.node_selectors = {one.name: one.node_selector for one in facts.namespaces or () if one.node_selector}
        self.namespace_limits: dict[str, dict[tuple[LimitScope, str], NamespaceLimit]] = {}
        for limit in sorted(facts.namespace_limits or (), key=lambda limit: -limit.most):  # the smallest stays
            self.namespace_limits.setdefault(limit.namespace, {})[limit.per, limit.resource] = limit
        classes = shown.runtime_classes if facts.runtime_classes is None else facts.runtime_classes
        self.runtime_classes = {known.name: known for known in reversed(classes)}
        wanted = settings.injections.runtime_class
        own = (facts.device_plugin and facts.device_plugin.runtime_class) or ""
        is_known = facts.runtime_classes is not None and wanted.name not in self.runtime_classes
        self.injected_class = own if is_known and own in self.runtime_classes else wanted.name
        self.injects_by_cdi = wanted.when_cdi == "skip" and _CDI_MARKER in self.runtime_classes
        self.pipes = {
            resource.name: MpsPipeDirectory(
                resource.name, settings.injections.pipe_directory, settings.injections.pipe_mount
            )
            for resource in (*settings.resources, self.annotated_resource)
            if resource is not None and resource.kind == "shared"
        }
        self.tolerations = [as_raw(toleration) for toleration in settings.injections.tolerations.add]
        self.endings = {code: _ending(settings, code) for code in defaults}
        self._policies: dict[str, NamespacePolicy] = {}
        self._rulings: dict[int, _Ruling] = {}

    def changed(self, **values: Cap | bool) -> Snapshot:
        """The same settings and facts under another `cap`, or with another value of `is_described`."""
        other = copy(self)
        vars(other).update(values, _policies={}, _rulings={})
        return other

    def of(self, namespace: str) -> NamespacePolicy:
        """The policy of a namespace. That of a name which no namespace can have is not kept."""
        policy = self._policies.get(namespace)
        if policy is None:
            policy = NamespacePolicy(self, namespace)
            if NAMESPACE_NAME.fullmatch(namespace):
                if len(self._policies) >= self._REMEMBERED:
                    self._policies.clear()
                self._policies[namespace] = policy
        return policy

    def ruling(self, rule: NamespaceRule | None) -> _Ruling:
        """What the policies of namespaces with a rule of these settings have in common; None for those without one."""
        ruling = self._rulings.get(id(rule))
        if ruling is None:
            ruling = self._rulings[id(rule)] = _Ruling.of(self, rule)
        return ruling


def _ending(settings: Settings, code: str) -> str:
    """The lines at the end of a denial: where to read more about its first code, then the suffix of the settings."""
    more = str(Command("gpushare-webhook", "explain", code))
    if settings.explain_url is not None:
        more = settings.explain_url.replace("{code}", code.lower()).replace("{CODE}", code)
    return more if settings.message_suffix is None else f"{more}\n{settings.message_suffix}"


class ContainerLimits:
    """The limits by strategy and nodes. None means unlimited.

    `static`: those of the settings. `depend_on_nodes`: the plugin's configuration decides, which nodes may differ in.
    `least`: the smallest limit that any request could meet, in billionths.
    """

    def __init__(self, limits: Limits, configs: PluginConfigs) -> None:
        self.static: dict[SharingStrategy, int | None] = {
            "mps": limits.per_container,
            "time-slicing": limits.time_slicing.per_container,
        }
        self._configs = configs
        self.depend_on_nodes = limits.from_device_plugin and configs.plugin is not None
        self._everywhere = {strategy: configs.accept_several_everywhere(strategy) for strategy in self.static}
        in_force = [limit for limit in self.static.values() if limit is not None]
        self.least: float = NANO if self.depend_on_nodes else min(in_force, default=inf) * NANO

    def allow_several(self, placement: Placement, strategy: SharingStrategy, resource: Resource) -> bool | None:
        """Whether the plugin accepts several replicas on the nodes that could take a pod, else on every node.

        None where that is unknown, or not asked.
        """
        if not self.depend_on_nodes:
            return None
        index, name = placement.cluster.index, resource.name
        nodes = placement.sharing(strategy, resource) if placement.cluster.decide else 0
        if not nodes:
            return self._everywhere[strategy]
        if nodes & index.accepting(strategy, name, several=False):
            return False
        if not nodes & ~index.accepting(strategy, name, several=True):
            return True
        return None if self._configs.have_names else self._everywhere[strategy]

    def limit(self, strategy: SharingStrategy, several: bool | None) -> int | None:
        """The limit: none where the plugin accepts several replicas, 1 where not, that of the settings if unknown."""
        if several is None:
            return self.static[strategy]
        return None if several else 1


_LABEL_LIMIT = 63


class MpsPipeDirectory:
    """The pipe directory of one resource, through which CUDA clients connect to the MPS control daemon.

    `path` leads there in the container, `host` on the node; the values equal those that the device plugin's Allocate
    returns (NVIDIA/k8s-device-plugin internal/plugin/mps.go). `volume` is the name of its volume: a DNS label,
    shortened with a hash. `clean` and `clean_host` are these paths without double or trailing slashes; `below` is the
    prefix of paths below.
    """

    def __init__(self, resource: str, directory: PipeDirectoryInjection, mount: PipeMountInjection) -> None:
        below = f"/{resource}/pipe" if directory.per_resource else ""
        self.path = directory.container_root.rstrip("/") + below
        self.host = mount.mps_root.rstrip("/") + below
        self.clean = clean_path(self.path)
        self.below = self.clean + "/"
        self.clean_host = clean_path(self.host)
        self.source = {"path": self.host, "type": mount.type} if mount.type else {"path": self.host}
        letters = [char if char.isascii() and char.isalnum() else "-" for char in resource.lower()]
        self.volume = f"gpushare-mps-{''.join(letters)}".strip("-")
        if len(self.volume) > _LABEL_LIMIT:
            from hashlib import sha256  # loads OpenSSL, for names that hardly occur

            digest = sha256(resource.encode()).hexdigest()[:8]
            self.volume = f"{self.volume[: _LABEL_LIMIT - 9].rstrip('-')}-{digest}"
