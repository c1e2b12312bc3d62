"""The objects of a cluster in facts: nodes, namespaces, classes, and the device plugin's configuration.

A cluster has validated its own names, so the types of texts are wide: only what would mislead is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from webhook.policy.settings import Section, required, setting

if TYPE_CHECKING:
    from webhook.policy.settings.formats import PluginVersion, SomeText, TaintEffect, Units

Strategy: TypeAlias = Literal["none", "mps", "time-slicing"]
LimitScope: TypeAlias = Literal["container", "pod"]
NodePart: TypeAlias = Literal["labels", "taints", "resources"]


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: SomeText = field(metadata={"description": "The taint's key."})
    effect: TaintEffect = field(metadata={"description": "The taint's effect."})
    value: str = setting("", "The taint's value.")

    def __str__(self) -> str:
        """As `key=value:effect`, as kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node, or a group of equal nodes that an autoscaler may add.

    `resources` holds whole units of extended resources as the node offers them (its allocatable). What `incomplete`
    names is true as far as it is listed; what is missing there is unknown.
    """

    name: SomeText = field(metadata={"description": "The node's name."})
    labels: Mapping[str, str] = setting({}, "Labels.")
    taints: tuple[Taint, ...] = setting((), "Taints.")
    resources: Mapping[SomeText, Units] = setting({}, "Extended resources that the node offers, in whole units.")
    incomplete: tuple[NodePart, ...] = setting(
        (), "Which of labels, taints and resources lack entries here, because the node has more than are kept."
    )
    certain_labels: tuple[str, ...] = setting(
        (),
        "Labels known to be complete: if one is not listed, the node lacks it. "
        "`node-restriction.kubernetes.io/` stands for all labels of this domain.",
    )


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace, its labels, and the node selector that the API server adds to its pods."""

    name: SomeText = field(metadata={"description": "The namespace's name."})
    labels: Mapping[str, str] = setting({}, "Labels.")
    node_selector: Mapping[str, str] = setting(
        {},
        "The node selector of its annotation `scheduler.alpha.kubernetes.io/node-selector` or "
        "`openshift.io/node-selector`.",
    )


class NamespaceLimit(Section):
    """The most of an extended resource that a LimitRange or a ResourceQuota allows in a namespace."""

    namespace: SomeText = required("The namespace.")
    owner: SomeText = required("Kind and name of the object, such as `LimitRange gpus`.")
    resource: SomeText = required("The extended resource.")
    most: Units = required("The most that it allows.")
    per: LimitScope = setting("container", "Whether the limit is for each container or for each pod.")


class RuntimeClass(Section):
    """A RuntimeClass: its handler and the node selector that its pods get."""

    name: SomeText = required("The class's name.")
    handler: str = setting("", "The class's handler.")
    node_selector: Mapping[str, str] = setting({}, "The class's `scheduling.nodeSelector`.")


class DeviceClass(Section):
    """A DeviceClass of dynamic resource allocation, and the extended resource whose requests it serves."""

    name: SomeText = required("The class's name.")
    extended_resource_name: str = setting(
        "", "The class's `extendedResourceName`, such as `nvidia.com/gpu`; empty if it serves none."
    )


class Replicas(Section):
    """A resource that one configuration of the device plugin shares."""

    name: SomeText = required("The resource's name as nodes advertise it.")
    replicas: Units = required("Replicas per card.")


class PluginConfig(Section):
    """One configuration of the device plugin: how nodes that use it share their cards."""

    name: SomeText = required("The configuration's name: its key in the ConfigMap.")
    strategy: Strategy = setting("none", "How it shares cards.")
    fail_requests_greater_than_one: bool | None = setting(
        None, "The strategy's `failRequestsGreaterThanOne`. null, if it is unset: true for MPS, false for time-slicing."
    )
    resources: tuple[Replicas, ...] = setting((), "The resources that it shares.")


NO_CONFIG = PluginConfig("")
"""The configuration of a node whose default is empty: the plugin's own defaults, which share nothing."""


class DevicePlugin(Section):
    """How the device plugin shares cards, and how it handles requests for more than one replica."""

    fail_requests_greater_than_one: bool | None = setting(
        None, "The plugin's option `failRequestsGreaterThanOne` for MPS, where `configs` is null. null: unknown."
    )
    version: PluginVersion | None = setting(
        None, "The plugin's version. Before 0.20, and where it is unknown, the plugin ignores the option for MPS."
    )
    configs: tuple[PluginConfig, ...] | None = setting(None, "Its configurations by name.")
    default_config: str | None = setting(
        None,
        "The configuration of nodes without the label `nvidia.com/device-plugin.config`. Empty: none, so that these "
        "nodes share nothing. null: unknown.",
    )
    runtime_class: str | None = setting(
        None, "The `runtimeClassName` of the plugin's own pods. Empty: none, so that GPU pods need none. null: unknown."
    )

    @property
    def honours_option_for_mps(self) -> bool:
        """Whether the plugin heeds the option for MPS: from v0.20.0 (NVIDIA/k8s-device-plugin#1762)."""
        return self.version is not None and release_of(self.version) >= (0, 20)


def release_of(version: PluginVersion) -> tuple[int, int]:
    """The major and the minor part of a version."""
    major, minor, *_ = version.lstrip("v").split(".")
    return int(major), int(minor)
