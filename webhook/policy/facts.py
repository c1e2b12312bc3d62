"""What is known about the cluster: an immutable snapshot. None means unknown, empty means known to be empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node, or a group of like nodes that an autoscaler may add.

    `resources` holds whole units of extended resources as the node offers them (its allocatable).
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    resources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and its labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuntimeClass:
    """A RuntimeClass: its handler and the node selector that its pods get."""

    name: str
    handler: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """What the device plugin's configuration says of requests for more than one replica.

    The option is honoured for MPS from v0.20.0 (NVIDIA/k8s-device-plugin#1762); unset means true.
    """

    fail_requests_greater_than_one: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """One snapshot of facts; each part is unknown until read."""

    nodes: tuple[Node, ...] | None = None
    namespaces: tuple[Namespace, ...] | None = None
    runtime_classes: tuple[RuntimeClass, ...] | None = None
    device_plugin: DevicePlugin | None = None


UNKNOWN = Facts()
"""Nothing is known."""
