"""The elements of lists in the settings, and sections that may be absent: the default settings contain none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from webhook.policy.settings import Section, required, setting

if TYPE_CHECKING:
    from webhook.policy.settings import formats


class LabelSelector(Section):
    """A selector of namespaces by their labels."""

    match_labels: Mapping[formats.LabelKey, formats.LabelValue] = setting(
        {}, "Labels that a namespace must have, all of them."
    )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels has all that the selector names."""
        return all(labels.get(key) == value for key, value in self.match_labels.items())


class NamespaceInjections(Section):
    """What happens to injections in some namespaces."""

    mode: formats.InjectionMode | None = setting(
        None, "The mode of injections in these namespaces. null: `injections.mode` of the file's top level."
    )


class NamespaceRule(Section):
    """Severities and modes for some namespaces. The first matching rule applies."""

    names: tuple[formats.NamespacePattern, ...] = setting((), "Namespaces by name; `*` stands for any text.")
    selector: LabelSelector | None = setting(None, "Namespaces by label, if their labels are known.")
    mode: formats.Mode | None = setting(None, "The mode in these namespaces. null: the mode of the file's top level.")
    severities: formats.Severities = setting({}, "Severities in these namespaces, above those of the file's top level.")
    injections: NamespaceInjections = NamespaceInjections()


class AnnotationRequest(Section):
    """An annotation by which a pod asks for a share of a GPU without naming a resource."""

    annotation: formats.LabelKey = required("The annotation's key, such as `gpu-fraction`.")
    container: formats.LabelKey | None = setting(
        None, "The annotation that names the container which gets the share. null, or absent on a pod: the first one."
    )


class NodeGroup(Section):
    """Nodes that an autoscaler may add."""

    name: formats.SomeText = required("The group's name in messages.")
    labels: Mapping[formats.LabelKey, formats.LabelValue] = setting({}, "Labels of its nodes.")
    taints: tuple[NodeTaint, ...] = setting((), "Taints of its nodes.")
    resources: Mapping[formats.ResourceName, formats.Amount] = setting(
        {}, "Extended resources that each of its nodes offers."
    )


class NodeTaint(Section):
    """A taint of a node group."""

    key: formats.TaintKey = required("The taint's key.")
    value: formats.LabelValue = setting("", "The taint's value.")
    effect: formats.TaintEffect = setting("NoSchedule", "The taint's effect.")


class DevicePluginSource(Section):
    """Where the device plugin's configuration and version are read."""

    config_maps: tuple[formats.NamespacedName, ...] = setting(
        (), "`namespace/name` of its ConfigMaps. Each key holds one configuration."
    )
    daemon_set: formats.NamespacedName | None = setting(
        None,
        "`namespace/name` of its DaemonSet, whose image shows the version, and whose environment the default "
        "configuration, or that there is none.",
    )
    version: formats.PluginVersion | None = setting(None, "Its version, if the image does not show it.")


class WorkloadPath(Section):
    """Where a custom kind keeps a pod template."""

    kind: formats.KindName = required("The kind, such as `JobSet`.")
    path: formats.TemplatePath = required(
        "The path, such as `spec.replicatedJobs[*].template.spec.template`; "
        "`[*]` stands for every element of a list, `.*` for every member of a mapping."
    )
    group: formats.ApiGroup = setting("", "The kind's API group; empty for the core group.")
    holds: Literal["template", "podSpec", "container", "resources"] = setting("template", "What the path leads to.")
    resource: formats.ResourcePlural | None = setting(
        None, "The kind's name in the API's paths, for the chart. null: the kind in lower case with an `s`."
    )
    versions: tuple[formats.ApiVersion, ...] = setting((), "The kind's versions, for the chart. Empty: all versions.")
    scope: Literal["Namespaced", "Cluster"] = setting(
        "Namespaced", "Where the kind's objects live. Every path of one kind must say the same."
    )
