"""The elements of lists in the settings, and sections that may be absent: the default settings contain none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from webhook.policy.settings import section, setting

if TYPE_CHECKING:
    from webhook.policy.settings.formats import (
        Amount,
        ApiGroup,
        ApiVersion,
        KindName,
        LabelKey,
        LabelValue,
        Mode,
        NamespacedName,
        NamespacePattern,
        PluginVersion,
        ResourceName,
        ResourcePlural,
        Severities,
        SomeText,
        TaintEffect,
        TaintKey,
        TemplatePath,
    )


@section(frozen=True)
class LabelSelector:
    """A selector of namespaces by their labels."""

    match_labels: Mapping[LabelKey, LabelValue] = setting({}, "Labels that a namespace must have, all of them.")


@section(frozen=True)
class NamespaceRule:
    """Severities and a mode for some namespaces. The first matching rule applies."""

    names: tuple[NamespacePattern, ...] = setting((), "Namespaces by name; `*` stands for any text.")
    selector: LabelSelector | None = setting(None, "Namespaces by label, if their labels are known.")
    mode: Mode | None = setting(None, "The mode in these namespaces. null: the mode of the file's top level.")
    severities: Severities = setting({}, "Severities in these namespaces; they override those of the file's top level.")


@section(frozen=True)
class AnnotationRequest:
    """An annotation by which a pod asks for a share of a GPU without naming a resource."""

    annotation: LabelKey = field(metadata={"description": "The annotation's key, such as `gpu-fraction`."})
    container: LabelKey | None = setting(
        None, "The annotation that names the container which gets the share. null, or absent on a pod: the first one."
    )


@section(frozen=True)
class NodeGroup:
    """Nodes that an autoscaler may add."""

    name: SomeText = field(metadata={"description": "The group's name in messages."})
    labels: Mapping[LabelKey, LabelValue] = setting({}, "Labels of its nodes.")
    taints: tuple[NodeTaint, ...] = setting((), "Taints of its nodes.")
    resources: Mapping[ResourceName, Amount] = setting({}, "Extended resources that each of its nodes offers.")


@section(frozen=True)
class NodeTaint:
    """A taint of a node group."""

    key: TaintKey = field(metadata={"description": "The taint's key."})
    value: LabelValue = setting("", "The taint's value.")
    effect: TaintEffect = setting("NoSchedule", "The taint's effect.")


@section(frozen=True)
class DevicePluginSource:
    """Where the device plugin's configuration and version are read."""

    config_maps: tuple[NamespacedName, ...] = setting(
        (), "`namespace/name` of its ConfigMaps. Each key holds one configuration."
    )
    daemon_set: NamespacedName | None = setting(
        None,
        "`namespace/name` of its DaemonSet, whose image shows the version, and whose environment the default "
        "configuration, or that there is none.",
    )
    version: PluginVersion | None = setting(None, "Its version, if the image does not show it.")


@section(frozen=True)
class WorkloadPath:
    """Where a custom kind keeps a pod template."""

    kind: KindName = field(metadata={"description": "The kind, such as `JobSet`."})
    path: TemplatePath = field(
        metadata={
            "description": "The path, such as `spec.replicatedJobs[*].template.spec.template`; "
            "`[*]` stands for every element of a list, `.*` for every member of a mapping."
        }
    )
    group: ApiGroup = setting("", "The kind's API group; empty for the core group.")
    holds: Literal["template", "podSpec", "container", "resources"] = setting(
        "template", "What the path leads to: a pod template, a pod spec, a container, or the resources of one."
    )
    resource: ResourcePlural | None = setting(
        None, "The kind's name in the API's paths, for the chart. null: the kind in lower case with an `s`."
    )
    versions: tuple[ApiVersion, ...] = setting((), "The kind's versions, for the chart. Empty: all versions.")
    scope: Literal["Namespaced", "Cluster"] = setting(
        "Namespaced", "Where the kind's objects live. Every path of one kind must say the same."
    )
