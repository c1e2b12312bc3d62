"""The rules of each namespace: settings and facts prepared once, so that the request path only looks them up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import inf
from typing import Any

from webhook.policy.pipe_directory import Pipe
from webhook.policy.placement.facts import Facts, Node, Taint
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.placement.node_index import NodeIndex
from webhook.policy.placement.tolerations import as_raw
from webhook.policy.pods.known_names import KnownNames
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import NamespaceRule, NodeGroup, Resource, Settings
from webhook.policy.verdict import Severity

_MODE_CAP = {"enforce": Severity.DENY, "warn": Severity.WARN, "audit": Severity.AUDIT}
_MIG = "nvidia.com/mig-"


class Rules:
    """The settings that apply in one namespace.

    `namespace_labels` is None when they are unknown. `exemption` says why the namespace is exempt, None if it is not.
    `severities` holds every check by its code, `active` those that are not off. `per_container` and `per_pod` are the
    limits on replicas of MPS nodes, `time_sliced_per_container` that of time-slicing nodes. `nodes_known`: `nodes`
    holds all of the cluster. `served`: the extended resources that DeviceClasses serve, also on nodes that do not list
    them. `least_limit` is the smallest limit on a container, in billionths.
    """

    def __init__(
        self,
        settings: Settings,
        facts: Facts,
        defaults: Mapping[str, Severity],
        namespace: str,
        common: CommonRules,
    ) -> None:
        self.settings = settings
        self.facts = facts
        self.namespace_labels = common.namespaces.get(namespace)
        self.exemption = _exemption(settings, namespace, self.namespace_labels)
        rule = _rule(settings.namespaces, namespace, self.namespace_labels)
        mode = (rule and rule.mode) or settings.mode
        named = {**settings.severities, **(rule.severities if rule else {})}
        self.severities = {code: _severity(named.get(code), default, mode) for code, default in defaults.items()}
        self.active = frozenset(code for code, severity in self.severities.items() if severity is not Severity.OFF)
        limits = settings.limits
        lifted = limits.from_device_plugin and _accepts_more(facts)
        self.per_container = None if lifted else limits.per_container
        self.per_pod = None if lifted else limits.per_pod
        self.time_sliced_per_container = limits.time_slicing.per_container
        in_force = [limit for limit in (self.per_container, self.time_sliced_per_container) if limit is not None]
        self.least_limit = min(in_force) * NANO if in_force else inf
        self.resources = common.resources
        self.annotation_requests = settings.requests.annotations
        self.annotated_resource = common.annotated_resource
        self.known_names = common.known_names
        self.node_classes = common.node_classes
        self.nodes = common.nodes
        self.nodes_known = common.nodes_known
        self.taint_keys = common.taint_keys
        self.runtime_classes = common.runtime_classes
        self.served = common.served
        self.pipes = common.pipes
        self._common = common

    def resource(self, name: str) -> Resource | None:
        """The GPU resource that a name stands for, or None."""
        known = self.resources.get(name)
        if known is None and name.startswith(_MIG):
            return Resource(name, "mig")
        return known

    def tolerations(self, requests: GpuRequests) -> Sequence[dict[str, str]]:
        """The tolerations to inject into a pod with these requests, in the form of its spec."""
        settings = self.settings.injections.tolerations
        if not requests.positive or not settings.enabled:
            return ()
        if not settings.from_nodes and not requests.has_renamed:
            return self._common.tolerations
        names = {request.resource.name: request.resource for request in requests.positive}
        wanted = list(self._common.tolerations)
        if settings.resource_name:
            wanted += [
                {"key": name, "operator": "Exists", "effect": "NoSchedule"}
                for name, resource in names.items()
                if resource.renamed
            ]
        for name in names:
            wanted += self._common.node_tolerations.get(name, ())
        return list({tuple(sorted(raw.items())): raw for raw in wanted}.values())


class CommonRules:
    """The part of the rules that is the same in every namespace."""

    __slots__ = (
        "annotated_resource",
        "known_names",
        "namespaces",
        "node_classes",
        "node_tolerations",
        "nodes",
        "nodes_known",
        "pipes",
        "resources",
        "runtime_classes",
        "served",
        "taint_keys",
        "tolerations",
    )

    def __init__(self, settings: Settings, facts: Facts) -> None:
        self.resources = {resource.name: resource for resource in settings.resources}
        self.annotated_resource = _annotated(settings)
        self.known_names = KnownNames(self.resources)
        placement = settings.placement
        self.node_classes = NodeClasses(placement.mps_labels, placement.time_slicing_labels)
        nodes = (*(facts.nodes or ()), *map(_as_node, placement.node_groups))
        self.nodes = NodeIndex(nodes, self.node_classes)
        self.nodes_known = facts.nodes is not None or placement.groups_are_complete
        self.namespaces = {known.name: known.labels for known in reversed(facts.namespaces or ())}
        self.runtime_classes = {known.name: known for known in reversed(facts.runtime_classes or ())}
        self.served = frozenset(known.extended_resource_name for known in facts.device_classes or ())
        shares = (*settings.resources, *((self.annotated_resource,) if self.annotated_resource else ()))
        self.pipes = {
            resource.name: Pipe(resource.name, settings.injections.pipe_directory, settings.injections.pipe_mount)
            for resource in shares
            if resource.kind == "shared"
        }
        injected = settings.injections.tolerations
        self.tolerations = [as_raw(toleration) for toleration in injected.add]
        self.node_tolerations = _from_nodes(injected.from_nodes, facts.nodes or ())
        configured = {toleration.key for toleration in injected.add}
        self.taint_keys = configured | self.resources.keys() | self.nodes.taint_keys


_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
"""The names that the API server accepts for a namespace: DNS labels (RFC 1123)."""


class Ruleset:
    """Settings and facts as one snapshot. Makes the rules of each namespace once.

    `defaults` holds the default severity of each check by its code.
    """

    _REMEMBERED = 4096

    def __init__(self, settings: Settings, facts: Facts, defaults: Mapping[str, Severity]) -> None:
        self.settings = settings
        self.facts = facts
        self._defaults = defaults
        self._common = CommonRules(settings, facts)
        self._rules: dict[str, Rules] = {}

    def of(self, namespace: str) -> Rules:
        """The rules of a namespace. Rules for a name that no namespace can have are not kept."""
        rules = self._rules.get(namespace)
        if rules is None:
            rules = Rules(self.settings, self.facts, self._defaults, namespace, self._common)
            if _NAMESPACE.fullmatch(namespace):
                if len(self._rules) >= self._REMEMBERED:
                    self._rules.clear()
                self._rules[namespace] = rules
        return rules


def _annotated(settings: Settings) -> Resource | None:
    """The resource of which annotations ask for a share: the first shared one, else the first of whole cards."""
    if not settings.requests.annotations:
        return None
    shared = next((one for one in settings.resources if one.kind == "shared"), None)
    whole = next((one for one in settings.resources if one.kind == "whole"), None)
    return shared or (whole and replace(whole, kind="shared"))


def _as_node(group: NodeGroup) -> Node:
    taints = tuple(Taint(taint.key, taint.effect, taint.value) for taint in group.taints)
    return Node(group.name, group.labels, taints, group.resources)


def _rule(rules: Sequence[NamespaceRule], name: str, labels: Mapping[str, str] | None) -> NamespaceRule | None:
    return next((rule for rule in rules if _matches(rule, name, labels)), None)


def _matches(rule: NamespaceRule, name: str, labels: Mapping[str, str] | None) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in rule.names):
        return True
    if rule.selector is None or labels is None:
        return False
    return all(labels.get(key) == value for key, value in rule.selector.match_labels.items())


def _severity(named: str | None, default: Severity, mode: str) -> Severity:
    wanted = default if named is None else Severity[named.upper()]
    return min(wanted, _MODE_CAP[mode])


def _accepts_more(facts: Facts) -> bool:
    plugin = facts.device_plugin
    return plugin is not None and plugin.honours_option_for_mps and not plugin.fail_requests_greater_than_one


def _exemption(settings: Settings, namespace: str, labels: Mapping[str, str] | None) -> str | None:
    """Why the pods of a namespace are exempt; None if they are not."""
    if namespace in settings.exempt.namespaces:
        return "exempt: the namespace is listed in exempt.namespaces"
    if settings.exempt.label is not None and labels is not None and carries(labels, settings.exempt.label):
        return "exempt: the namespace has the label of exempt.label"
    return None


def carries(labels: Mapping[str, Any], wanted: str) -> bool:
    """Whether labels or annotations contain `key=value`; a bare `key` means `key=true`."""
    key, _, value = wanted.partition("=")
    return labels.get(key) == (value or "true")


def _from_nodes(patterns: Sequence[str], nodes: Sequence[Node]) -> Mapping[str, Sequence[dict[str, str]]]:
    """By resource, tolerations for the taints that match the patterns on nodes that offer the resource."""
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for node in nodes if patterns else ():
        fitting = [taint for taint in node.taints if any(fnmatchcase(taint.key, pattern) for pattern in patterns)]
        for name, amount in node.resources.items():
            for taint in fitting if amount else ():
                raw = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
                found.setdefault(name, {}).setdefault((taint.key, taint.effect), raw)
    return {name: tuple(raws.values()) for name, raws in found.items()}
