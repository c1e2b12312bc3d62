"""The facts file, and facts as one holds them: sorted, and with nothing that no policy reads.

A snapshot may be committed beside the manifests that it checks, so it holds no annotations, addresses or images, and of
namespaces only the labels that the settings name. Node labels stay, since any pod may select by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar

from webhook.policy.placement.cluster_objects import Namespace, Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import taint_order
from webhook.policy.placement.platforms import POD_SECURITY
from webhook.policy.settings.settings import Settings
from webhook.settings.configuration import API_VERSION
from webhook.settings.members import write

FACTS_KIND = "Facts"

_CHANGING = frozenset({"nvidia.com/gfd.timestamp"})
"""Node labels that change while the node stays the same: GPU feature discovery writes the time of its last run."""


def spelled_out(facts: Facts) -> dict[str, Any]:
    """The content of a facts file that loads as these facts. Defaults and unknown parts are left out."""
    return {"apiVersion": API_VERSION, "kind": FACTS_KIND, **write(facts, briefly=True)}


def portable(facts: Facts, settings: Settings) -> Facts:
    """The facts that a file keeps of a cluster with these settings, in a stable order."""
    selectors = (settings.sharing.namespaces, *(rule.selector for rule in settings.namespaces))
    named = {key for selector in selectors if selector is not None for key in selector.match_labels}
    named.add((settings.exempt.label or "").partition("=")[0])

    def node(found: Node) -> Node:
        labels = {key: value for key, value in _by_key(found.labels).items() if key not in _CHANGING}
        taints = tuple(sorted(found.taints, key=taint_order))
        return replace(found, labels=labels, taints=taints, resources=_by_key(found.resources))

    def namespace(found: Namespace) -> Namespace:
        kept = (key for key in found.labels if key.startswith(POD_SECURITY) or key in named)
        labels = {key: found.labels[key] for key in sorted(kept)}
        return replace(found, labels=labels, node_selector=_by_key(found.node_selector))

    plugin = facts.device_plugin
    if plugin is not None:
        configs = _each(plugin.configs, lambda one: replace(one, resources=_each(one.resources) or ()))
        plugin = replace(plugin, configs=configs)
    return Facts(
        nodes=_each(facts.nodes, node),
        namespaces=_each(facts.namespaces, namespace),
        runtime_classes=_each(
            facts.runtime_classes, lambda one: replace(one, node_selector=_by_key(one.node_selector))
        ),
        device_classes=_each(facts.device_classes),
        device_plugin=plugin,
        default_queues=None if facts.default_queues is None else tuple(sorted(facts.default_queues)),
        namespace_limits=facts.namespace_limits,
    )


T = TypeVar("T")


def _each(objects: Iterable[T] | None, keep: Callable[[T], T] = lambda one: one) -> tuple[T, ...] | None:
    """What is kept of each object, by name; None if the objects are unknown."""
    return None if objects is None else tuple(sorted(map(keep, objects), key=attrgetter("name")))


V = TypeVar("V")


def _by_key(mapping: Mapping[str, V]) -> dict[str, V]:
    return dict(sorted(mapping.items()))
