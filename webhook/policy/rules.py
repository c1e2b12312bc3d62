"""Settings made ready for the request path: what holds for one namespace, looked up and not worked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from webhook.policy.demand import Demand
from webhook.policy.facts import Facts, Node, Taint
from webhook.policy.pipe import Pipe
from webhook.policy.placement import Worlds
from webhook.policy.settings import NamespaceRule, Resource, Settings
from webhook.policy.tolerations import as_raw
from webhook.policy.verdict import Severity

if TYPE_CHECKING:
    from webhook.policy.case import Case
    from webhook.policy.check import Check

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
        self.namespace_labels = _labels(facts, namespace)
        self.exempt = namespace in settings.exempt.namespaces or _opted_out(
            settings.exempt.label, self.namespace_labels
        )
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
        self.known_names = tuple(shared.resources)
        self.worlds = shared.worlds
        self.node_groups = shared.node_groups
        self.pipes = shared.pipes
        self._shared = shared

    def resource(self, name: str) -> Resource | None:
        """The GPU resource that a name stands for, if any."""
        known = self.resources.get(name)
        if known is None and name.startswith(_MIG):
            return Resource(name, "mig")
        return known

    def checks_for(self, case: Case) -> tuple[Check, ...]:
        """The active checks in whose scope the case is, in the order of their codes."""
        origin = case.origin
        scopes = (
            *(bool(case.mps), bool(case.demand.asks), bool(case.demand.names)),
            *(origin.arrived, origin.added is None),
        )
        checks = self._by_scopes.get(scopes)
        if checks is None:
            checks = self._by_scopes[scopes] = tuple(check for check in self._active if check.scope.holds(case))
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
        wanted += _from_nodes(settings.from_nodes, self.facts.nodes or (), names)
        return list({tuple(sorted(raw.items())): raw for raw in wanted}.values())


class Shared:
    """What is the same in every namespace, worked out once."""

    __slots__ = ("node_groups", "pipes", "resources", "tolerations", "worlds")

    def __init__(self, settings: Settings) -> None:
        self.resources = {resource.name: resource for resource in settings.resources}
        self.worlds = Worlds(settings.placement.mps_labels)
        self.node_groups = tuple(
            Node(
                group.name,
                group.labels,
                tuple(Taint(taint.key, taint.effect, taint.value) for taint in group.taints),
                group.resources,
            )
            for group in settings.placement.node_groups
        )
        self.pipes = {
            resource.name: Pipe(resource.name, settings.injections.pipe_directory, settings.injections.pipe_mount)
            for resource in settings.resources
            if resource.kind == "shared"
        }
        self.tolerations = [as_raw(toleration) for toleration in settings.injections.tolerations.add]


class Ruleset:
    """Settings and facts as one snapshot, replaced whole and read once a request. Keeps the rules of each namespace."""

    _REMEMBERED = 4096

    def __init__(self, settings: Settings, checks: Sequence[Check], facts: Facts) -> None:
        self.settings = settings
        self.facts = facts
        self._checks = checks
        self._shared = Shared(settings)
        self._rules: dict[str, Rules] = {}

    def of(self, namespace: str) -> Rules:
        """The rules of a namespace."""
        rules = self._rules.get(namespace)
        if rules is None:
            if len(self._rules) >= self._REMEMBERED:
                self._rules.clear()
            rules = Rules(self.settings, self._checks, self.facts, namespace, self._shared)
            self._rules[namespace] = rules
        return rules


def _labels(facts: Facts, namespace: str) -> Mapping[str, str] | None:
    return next((known.labels for known in facts.namespaces or () if known.name == namespace), None)


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


def _from_nodes(patterns: Sequence[str], nodes: Sequence[Node], names: Mapping[str, Resource]) -> list[dict[str, str]]:
    return [
        {"key": taint.key, "operator": "Exists", "effect": taint.effect}
        for node in nodes
        if any(node.resources.get(name) for name in names)
        for taint in node.taints
        if any(fnmatchcase(taint.key, pattern) for pattern in patterns)
    ]
