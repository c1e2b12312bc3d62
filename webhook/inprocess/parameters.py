"""The parameters of policies: what the facts show about a cluster, as texts.

Policies look at labels alone. So the parameters name a fact only where it holds for every pod: a policy then injects
nothing that the webhook with the same facts leaves out, and denies nothing that it allows. A fact that is unknown, or
differs between nodes, is absent, and the webhook alone decides.
"""

from __future__ import annotations

import re
from typing import Final

from webhook.policy.context import Origin, PodContext
from webhook.policy.injections.runtime_class import is_sandbox, obstacle
from webhook.policy.rules import Ruleset
from webhook.policy.workloads.kinds import BUILT_IN, extract

SHARING: Final = "sharing"
"""`mps`: every GPU node shares every shared resource through MPS."""

LIMIT: Final = "limitMps"
"""The replicas that a container may ask for on every MPS node; `none` without a limit."""

UNLIMITED: Final = "none"

RUNTIME_CLASS: Final = "runtimeClass"
"""`inject`: pods that request a GPU and name no class get the class of the settings."""

RUNTIME_CLASS_SELECTOR: Final = "runtimeClassSelector"
"""The node selector of that class, `key=value,…`. A pod that selects another value does not get the class."""

TOLERATIONS: Final = "tolerations"
"""The taints of all GPU nodes that the settings allow to tolerate, `key|effect;…`."""

MODE: Final = "mode"
"""The cap on the mode: `enforce` without one."""


def parameters(ruleset: Ruleset) -> dict[str, str]:
    """The parameters by key, for the settings and facts of a ruleset."""
    sharing = {SHARING: "mps", **_limit(ruleset)} if _all_share_through_mps(ruleset) else {}
    tolerations = {TOLERATIONS: found} if (found := _tolerations(ruleset)) else {}
    return {MODE: ruleset.cap, **sharing, **_runtime_class(ruleset), **tolerations}


def _all_share_through_mps(ruleset: Ruleset) -> bool:
    """Whether each pod that requests a shared resource could land on an MPS node, unless its labels exclude them all.

    That also holds for a pod that no known node takes.
    """
    nodes, shared = ruleset.nodes, _shared(ruleset)
    if _awaits_facts(ruleset) or not nodes.dynamic.isdisjoint(shared) or nodes.classes.configs.label("mps"):
        return False
    return not nodes.decide or all(
        not _having(ruleset, name) & ~(nodes.index.sharing("mps", name) & ~nodes.index.unknown) for name in shared
    )


def _limit(ruleset: Ruleset) -> dict[str, str]:
    """The limit of a container where it is the same for every pod that could land on an MPS node.

    Absent where the device plugin accepts several replicas on some nodes, because that also lifts the limit of a pod.
    """
    several = _accepts_several(ruleset) if ruleset.container_limits.depend_on_nodes else {None}
    limits = {ruleset.container_limits.limit("mps", each) for each in several}
    if True in several or len(limits) > 1:
        return {}
    (limit,) = limits
    return {LIMIT: UNLIMITED if limit is None else str(limit)}


def _accepts_several(ruleset: Ruleset) -> set[bool | None]:
    """Whether the device plugin accepts several replicas, on each MPS node and where no known node can take a pod."""
    limits, nodes = ruleset.container_limits, ruleset.nodes
    found = set()
    for name in _shared(ruleset):
        sharing = _having(ruleset, name) if nodes.decide else 0
        accepting = {each: nodes.index.accepting("mps", name, several=each) for each in (True, False)}
        unknown = sharing & ~(accepting[True] | accepting[False])
        alike = (sharing & accepting[True], sharing & accepting[False], unknown)
        found |= {limits.allow_several("mps", name, some, nodes.index) for some in (0, *filter(None, alike))}
    return found


def _awaits_facts(ruleset: Ruleset) -> bool:
    """Whether facts about nodes that the settings ask for are unknown."""
    wanted, facts = ruleset.settings.facts, ruleset.facts
    return any(
        is_wanted and known is None
        for is_wanted, known in (
            (wanted.nodes, facts.nodes),
            (wanted.device_classes, facts.device_classes),
            (wanted.device_plugin is not None, facts.device_plugin),
        )
    )


def _shared(ruleset: Ruleset) -> list[str]:
    return [resource.name for resource in ruleset.settings.resources if resource.kind == "shared"]


def _having(ruleset: Ruleset, resource: str) -> int:
    """The nodes that offer a resource, or could once their device plugin runs."""
    index = ruleset.nodes.index
    return index.offering(resource, 1) | index.unready(resource)


_LABEL: Final = re.compile(r"[-._/A-Za-z0-9]+")
"""Keys and values of labels, as the API server accepts them. A facts file may hold others."""


def _runtime_class(ruleset: Ruleset) -> dict[str, str]:
    """Whether pods get the runtime class. A sandbox is left to the webhook, which knows whether a pod uses MPS."""
    (pod,) = extract(BUILT_IN, {"spec": {"containers": []}}, "", "Pod")
    context = PodContext(pod, Origin(""), ruleset.of(""))
    name = ruleset.settings.injections.runtime_class.name
    if obstacle(context) is not None or is_sandbox(context, name):
        return {}
    known = context.runtime_class(name)
    selector = {} if known is None else known.node_selector
    if not all(_LABEL.fullmatch(key) and (not value or _LABEL.fullmatch(value)) for key, value in selector.items()):
        return {}
    return {
        RUNTIME_CLASS: "inject",
        RUNTIME_CLASS_SELECTOR: ",".join(f"{key}={selector[key]}" for key in sorted(selector)),
    }


def _tolerations(ruleset: Ruleset) -> str:
    """The taints to tolerate that every node with a GPU resource of the settings has; empty without one."""
    nodes = 0
    for name in ruleset.nodes.index.offered & {resource.name for resource in ruleset.settings.resources}:
        nodes |= _having(ruleset, name)
    taints = ruleset.nodes.index.taints
    common = [each for each in ruleset.nodes.tolerable if nodes and not nodes & ~taints.having(each)]
    return ";".join(f"{key}|{effect}" for key, effect in sorted(common))
