"""Settings made ready for the request path: what holds for one namespace, looked up and not worked out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from webhook.policy.pipe_directory import Pipe
from webhook.policy.placement.facts import Facts, Node, Taint
from webhook.policy.placement.node_index import NodeIndex
from webhook.policy.placement.reachability import NodeClasses
from webhook.policy.placement.tolerations import as_raw
from webhook.policy.pods.known_names import KnownNames
from webhook.policy.pods.requests import Demand
from webhook.policy.settings.settings import NamespaceRule, NodeGroup, Resource, Settings
from webhook.policy.verdict import Severity

if TYPE_CHECKING:
    from webhook.policy.checks.check import Check
    from webhook.policy.context import PodContext

_MODE_CAP = {"enforce": Severity.DENY, "warn": Severity.WARN, "audit": Severity.AUDIT}
_MIG = "nvidia.com/mig-"


class Rules:
    """The settings as they hold in one namespace.

    `namespace_labels` is None when they are unknown. `per_container` and `per_pod` are the limits on replicas.
    """

    def __init__(
        self,
        settings: Settings,
        checks: Sequence[Check],
        facts: Facts,
        namespace: str,
        shared: Shared,
    ) -> None:
        self.settings = settings
        self.facts = facts
        self.namespace_labels = shared.namespaces.get(namespace)
        self.exempt = namespace in shared.exempt or _opted_out(settings.exempt.label, self.namespace_labels)
        rule = _rule(settings.namespaces, namespace, self.namespace_labels)
        mode = (rule and rule.mode) or settings.mode
        named = {**settings.severities, **(rule.severities if rule else {})}
        self.severities = {check.code: _severity(check, named, mode) for check in checks}
        self._active = [check for check in checks if self.severities[check.code] is not Severity.OFF]
        self._by_scopes: dict[tuple[bool, ...], tuple[Check, ...]] = {}
        limits = settings.limits
        lifted = limits.from_device_plugin and _accepts_more(facts)
        self.per_container = None if lifted else limits.per_container
        self.per_pod = None if lifted else limits.per_pod
        self.resources = shared.resources
        self.known_names = shared.known_names
        self.node_classes = shared.node_classes
        self.nodes = shared.nodes
        self.taint_keys = shared.taint_keys
        self.runtime_classes = shared.runtime_classes
        self.pipes = shared.pipes
        self._shared = shared

    def resource(self, name: str) -> Resource | None:
        """The GPU resource that a name stands for, if any."""
        known = self.resources.get(name)
        if known is None and name.startswith(_MIG):
            return Resource(name, "mig")
        return known

    def checks_for(self, context: PodContext) -> tuple[Check, ...]:
        """The active checks in whose scope the case is, in the order of their codes."""
        origin = context.origin
        scopes = (
            *(bool(context.mps), bool(context.demand.asks), bool(context.demand.names)),
            *(origin.arrived, origin.added is None),
        )
        checks = self._by_scopes.get(scopes)
        if checks is None:
            checks = self._by_scopes[scopes] = tuple(check for check in self._active if check.scope.holds(context))
        return checks

    def tolerations(self, demand: Demand) -> Sequence[dict[str, str]]:
        """The tolerations for a pod with this demand, as a pod carries them."""
        settings = self.settings.injections.tolerations
        if not demand.asks or not settings.enabled:
            return ()
        if not settings.from_nodes and not demand.has_renamed:
            return self._shared.tolerations
        names = {ask.resource.name: ask.resource for ask in demand.asks}
        wanted = list(self._shared.tolerations)
        if settings.resource_name:
            wanted += [
                {"key": name, "operator": "Exists", "effect": "NoSchedule"}
                for name, resource in names.items()
                if resource.renamed
            ]
        for name in names:
            wanted += self._shared.node_tolerations.get(name, ())
        return list({tuple(sorted(raw.items())): raw for raw in wanted}.values())


class Shared:
    """What is the same in every namespace, worked out once."""

    __slots__ = (
        "exempt",
        "known_names",
        "namespaces",
        "node_classes",
        "node_tolerations",
        "nodes",
        "pipes",
        "resources",
        "runtime_classes",
        "taint_keys",
        "tolerations",
    )

    def __init__(self, settings: Settings, facts: Facts) -> None:
        self.resources = {resource.name: resource for resource in settings.resources}
        self.known_names = KnownNames(self.resources)
        self.node_classes = NodeClasses(settings.placement.mps_labels)
        nodes = (*(facts.nodes or ()), *map(_as_node, settings.placement.node_groups))
        self.nodes = NodeIndex(nodes, self.node_classes.is_mps)
        self.exempt = frozenset(settings.exempt.namespaces)
        self.namespaces = {known.name: known.labels for known in reversed(facts.namespaces or ())}
        self.runtime_classes = {known.name: known for known in reversed(facts.runtime_classes or ())}
        self.pipes = {
            resource.name: Pipe(resource.name, settings.injections.pipe_directory, settings.injections.pipe_mount)
            for resource in settings.resources
            if resource.kind == "shared"
        }
        injected = settings.injections.tolerations
        self.tolerations = [as_raw(toleration) for toleration in injected.add]
        self.node_tolerations = _from_nodes(injected.from_nodes, facts.nodes or ())
        configured = {toleration.key for toleration in injected.add}
        self.taint_keys = configured | self.resources.keys() | self.nodes.taint_keys


_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
"""What the API server accepts as the name of a namespace: a DNS label (RFC 1123)."""


class Ruleset:
    """Settings and facts as one snapshot, replaced whole and read once a request. Keeps the rules of each namespace."""

    _REMEMBERED = 4096

    def __init__(self, settings: Settings, checks: Sequence[Check], facts: Facts) -> None:
        self.settings = settings
        self.facts = facts
        self._checks = checks
        self._shared = Shared(settings, facts)
        self._rules: dict[str, Rules] = {}

    def of(self, namespace: str) -> Rules:
        """The rules of a namespace. Those of a name that no namespace can have are not kept."""
        rules = self._rules.get(namespace)
        if rules is None:
            rules = Rules(self.settings, self._checks, self.facts, namespace, self._shared)
            if _NAMESPACE.fullmatch(namespace):
                if len(self._rules) >= self._REMEMBERED:
                    self._rules.clear()
                self._rules[namespace] = rules
        return rules


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


def _severity(check: Check, named: Mapping[str, Any], mode: str) -> Severity:
    wanted = Severity[named[check.code].upper()] if check.code in named else check.severity
    return min(wanted, _MODE_CAP[mode])


def _accepts_more(facts: Facts) -> bool:
    return facts.device_plugin is not None and not facts.device_plugin.fail_requests_greater_than_one


def _opted_out(label: str | None, labels: Mapping[str, str] | None) -> bool:
    return label is not None and labels is not None and carries(labels, label)


def carries(labels: Mapping[str, Any], wanted: str) -> bool:
    """Whether labels or annotations hold `key=value`, or `key` with the value `true`."""
    key, _, value = wanted.partition("=")
    return labels.get(key) == (value or "true")


def _from_nodes(patterns: Sequence[str], nodes: Sequence[Node]) -> Mapping[str, Sequence[dict[str, str]]]:
    """For each resource the tolerations of taints that fit the patterns, on nodes that offer it."""
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for node in nodes if patterns else ():
        fitting = [taint for taint in node.taints if any(fnmatchcase(taint.key, pattern) for pattern in patterns)]
        for name, amount in node.resources.items():
            for taint in fitting if amount else ():
                raw = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
                found.setdefault(name, {}).setdefault((taint.key, taint.effect), raw)
    return {name: tuple(raws.values()) for name, raws in found.items()}
