"""Facts about the cluster: an immutable snapshot. None means unknown, empty means known to be empty.

The facts file has the names in camelCase; `webhook.settings` loads and validates it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.policy.settings import Section, setting

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import (
        DeviceClass,
        DevicePlugin,
        Namespace,
        NamespaceLimit,
        Node,
        RuntimeClass,
        Strategy,
    )


class Facts(Section):
    """One snapshot of facts; a part that is None is unknown."""

    nodes: tuple[Node, ...] | None = setting(None, "The nodes.")
    namespaces: tuple[Namespace, ...] | None = setting(None, "The namespaces.")
    runtime_classes: tuple[RuntimeClass, ...] | None = setting(None, "The RuntimeClasses.")
    device_classes: tuple[DeviceClass, ...] | None = setting(None, "The DeviceClasses.")
    device_plugin: DevicePlugin | None = setting(None, "The configuration of the device plugin.")
    default_queues: tuple[str, ...] | None = setting(
        None,
        "The namespaces with a LocalQueue of Kueue named `default`, which queues Jobs that name no queue. "
        "`workloads.defaultQueue` overrides it.",
    )
    namespace_limits: tuple[NamespaceLimit, ...] | None = setting(
        None, "The amounts of GPUs that LimitRanges and ResourceQuotas allow containers and pods."
    )


UNKNOWN = Facts()
"""Facts without any knowledge of a cluster."""


class Shown(NamedTuple):
    """What objects show of a cluster that they need not describe in full: others may exist, so absence proves nothing.

    The nodes decide about the pods that they could take, and are no reason to reject a pod that none of them takes.
    `strategies`: how nodes share their cards of which nothing else is known; None: in any way. `refused`: the names of
    configurations that the device plugin refuses. What they are meant to share is unknown.
    """

    nodes: tuple[Node, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    strategies: frozenset[Strategy] | None = None
    refused: frozenset[str] = frozenset()


NOTHING_SHOWN = Shown()


RESTRICTED: Final = "node-restriction.kubernetes.io/"
"""The kind of all labels that a kubelet may not change."""


def label_kind(key: str) -> str:
    """The entry of a label in `certain_labels`: its key, or RESTRICTED for labels of that domain and its subdomains."""
    if RESTRICTED not in key:
        return key
    namespace, _, _ = key.partition("/")
    return RESTRICTED if f".{namespace}/".endswith(f".{RESTRICTED}") else key


def may_have(node: Node, key: str) -> bool:
    """Whether a node may have a label that is not listed."""
    return "labels" in node.incomplete and key not in node.labels and label_kind(key) not in node.certain_labels
