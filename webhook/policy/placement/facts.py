"""Facts about the cluster: an immutable snapshot. None means unknown, empty means known to be empty.

The facts file spells the names in camelCase; `webhook.settings` reads and validates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.policy.settings.field import setting


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str = field(metadata={"says": "Its key."})
    effect: str = field(metadata={"says": "Its effect."})
    value: str = setting("", "Its value.")


@dataclass(frozen=True, slots=True)
class Node:
    """A node, or a group of like nodes that an autoscaler may add.

    `resources` holds whole units of extended resources as the node offers them (its allocatable).
    """

    name: str = field(metadata={"says": "The node's name."})
    labels: Mapping[str, str] = setting({}, "Its labels.")
    taints: tuple[Taint, ...] = setting((), "Its taints.")
    resources: Mapping[str, int] = setting({}, "The extended resources that it offers, in whole units.")


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and its labels."""

    name: str = field(metadata={"says": "The namespace's name."})
    labels: Mapping[str, str] = setting({}, "Its labels.")


@dataclass(frozen=True, slots=True)
class RuntimeClass:
    """A RuntimeClass: its handler and the node selector that its pods get."""

    name: str = field(metadata={"says": "The class's name."})
    handler: str = setting("", "Its handler.")
    node_selector: Mapping[str, str] = setting({}, "Its `scheduling.nodeSelector`.")


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """What the device plugin's configuration says of requests for more than one replica.

    The option is honoured for MPS from v0.20.0 (NVIDIA/k8s-device-plugin#1762); unset means true.
    """

    fail_requests_greater_than_one: bool = setting(True, "The plugin's option `failRequestsGreaterThanOne`.")


@dataclass(frozen=True, slots=True)
class Facts:
    """One snapshot of facts; each part is unknown until read."""

    nodes: tuple[Node, ...] | None = setting(None, "The nodes.")
    namespaces: tuple[Namespace, ...] | None = setting(None, "The namespaces.")
    runtime_classes: tuple[RuntimeClass, ...] | None = setting(None, "The RuntimeClasses.")
    device_plugin: DevicePlugin | None = setting(None, "What the device plugin is configured to do.")


UNKNOWN = Facts()
"""Facts without any knowledge of a cluster."""
