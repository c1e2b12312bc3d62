"""Whom `doctor` and `why` believe about nodes: the namespaces in which administrators alone run pods.

Any author of pods may call a DaemonSet, its containers and its images as NVIDIA does. A priority class proves nothing:
pods of every namespace may have `system-node-critical` unless a quota forbids it (kubernetes/kubernetes#76310).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.cluster.stack import Program, ProgramPod, Role, SeenNode
from webhook.live.doctor.seen import Installation, Trust
from webhook.policy.placement.cluster_objects import Namespace
from webhook.policy.settings.settings import Settings
from webhook.policy.snapshot import ENFORCE_LABEL

ALWAYS: Final = frozenset({"kube-system", "gpushare-webhook"})
"""The namespace of Kubernetes itself, and that of this webhook in every page."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows that administrators run a GPU stack. `named` is `namespace/name` of the plugin that the caller names.

    `programs` and `pods` are all that look like one of the stack. `namespaces` is None if the caller may not read them.
    """

    named: str | None
    settings: Settings
    installations: Sequence[Installation]
    namespaces: Iterable[Namespace] | None
    nodes: Sequence[SeenNode]
    programs: Sequence[Program]
    pods: Sequence[ProgramPod]


def trust(found: Evidence) -> Trust:
    """Return the namespaces of administrators, and one that is presumed to be if none of those has a device plugin.

    A namespace is of administrators by its name, or because a device plugin runs there on a GPU node, mounts the
    kubelet's folder, and the namespace enforces the level `privileged`: only an administrator can set that label, and
    the other levels forbid the mount. Presumed is the namespace whose plugin mounts the folder, or runs where GPUs are
    offered; of several, the oldest DaemonSet counts, since the API server sets its date.
    """
    administered = named(found.settings, found.named, found.installations)
    nodes = {node.name: node for node in found.nodes}
    running = [one for one in found.pods if one.role is Role.PLUGIN and one.node in nodes]
    privileged = {one.name for one in found.namespaces or () if one.labels.get(ENFORCE_LABEL) == "privileged"}
    administered |= {one.namespace for one in running if one.mounts_kubelet and one.namespace in privileged}
    stack: tuple[Program | ProgramPod, ...] = (*found.programs, *found.pods)
    if any(one.role is Role.PLUGIN and one.namespace in administered for one in stack):
        return Trust(frozenset(administered))
    created = {(one.namespace, one.name): one.created for one in found.programs if one.role is Role.PLUGIN}
    presumed = [
        (not one.mounts_kubelet, created[one.namespace, one.owner], one.namespace)
        for one in running
        if (one.namespace, one.owner) in created and (one.mounts_kubelet or any(nodes[one.node].offered.values()))
    ]
    return Trust(frozenset(administered), min(presumed)[-1] if presumed else "")


def named(settings: Settings, plugin: str | None = None, installations: Iterable[Installation] = ()) -> set[str]:
    """The namespaces that the caller, the settings or the installation name."""
    source = settings.facts.device_plugin
    objects = [plugin, *(() if source is None else (source.daemon_set, *source.config_maps))]
    return {
        *ALWAYS,
        *settings.exempt.namespaces,
        *(one.namespace for one in installations),
        *(one.partition("/")[0] for one in objects if one),
    }
