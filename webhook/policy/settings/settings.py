"""What an administrator decides, as frozen dataclasses with their defaults.

The settings file spells the names in camelCase; `webhook.settings` reads and validates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from webhook.policy.settings.field import setting
from webhook.policy.settings.injections import Injections

Mode = Literal["enforce", "warn", "audit"]
SeverityName = Literal["deny", "warn", "audit", "off"]
Level = Literal["privileged", "baseline", "restricted"]


@dataclass(frozen=True, slots=True)
class Resource:
    """An extended resource that stands for GPUs."""

    name: str = field(metadata={"says": "The resource's name, such as `nvidia.com/gpu`."})
    kind: Literal["shared", "whole", "mig"] = setting(
        "shared", "Whether its units are replicas on some nodes, whole cards, or MIG slices."
    )
    renamed: bool = setting(False, "The name exists on sharing nodes only (the plugin's `renameByDefault`).")


@dataclass(frozen=True, slots=True)
class Limits:
    """How many replicas may be asked for where GPUs are shared through MPS."""

    per_container: int | None = setting(1, "Replicas that one container may ask for (GPS001). null: no limit.")
    per_pod: int | None = setting(1, "Replicas that a pod may ask for as a whole (GPS002). null: no limit.")
    from_device_plugin: bool = setting(False, "No limits where the device plugin is known to accept more than one.")


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A selector over a namespace's labels."""

    match_labels: Mapping[str, str] = setting({}, "Labels that must all be there.")


@dataclass(frozen=True, slots=True)
class NamespaceRule:
    """Other severities or another mode for some namespaces. The first rule that matches counts."""

    names: tuple[str, ...] = setting((), "Namespaces by name; `*` stands for any text.")
    selector: LabelSelector | None = setting(None, "Namespaces by label; matches only where their labels are known.")
    mode: Mode | None = setting(None, "The mode there.")
    severities: Mapping[str, SeverityName] = setting({}, "Severities there, over those of the file's top level.")


@dataclass(frozen=True, slots=True)
class Exempt:
    """What is left alone entirely."""

    namespaces: tuple[str, ...] = setting(
        ("kube-system", "kube-node-lease", "gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin"),
        "Namespaces that are left alone.",
    )
    label: str | None = setting(
        None, "Label of a namespace, `key` or `key=value` (value `true` when omitted), that leaves it alone."
    )
    annotation: str | None = setting(
        None, "Annotation of a pod, in the same form, that leaves the pod alone. Users can set it: null trusts none."
    )


@dataclass(frozen=True, slots=True)
class Users:
    """As whom containers use MPS."""

    run_as_user: int | None = setting(
        None, "The user that the MPS daemon serves (GPS008). null: any, as long as a pod's are the same."
    )
    host_ipc: bool = setting(False, "`hostIPC: true` is normal here (GPS009 says nothing of it).")


@dataclass(frozen=True, slots=True)
class PodSecurity:
    """How namespaces are read for Pod Security."""

    unlabelled: Level = setting(
        "privileged", "The level that a namespace without `pod-security.kubernetes.io/enforce` has."
    )


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that an autoscaler may add."""

    name: str = field(metadata={"says": "What messages call the group."})
    labels: Mapping[str, str] = setting({}, "Their labels.")
    taints: tuple[NodeTaint, ...] = setting((), "Their taints.")
    resources: Mapping[str, int] = setting({}, "The extended resources that one of them offers.")


@dataclass(frozen=True, slots=True)
class NodeTaint:
    """A taint of a node group."""

    key: str = field(metadata={"says": "Its key."})
    value: str = setting("", "Its value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = setting("NoSchedule", "Its effect.")


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """How MPS nodes are told from others."""

    mps_labels: Mapping[str, str] = setting(
        {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps"},
        "Labels of an MPS node; one of them suffices. Empty: labels tell nothing, every GPU node could be one.",
    )
    node_groups: tuple[NodeGroup, ...] = setting((), "Node groups that exist from zero nodes up.")


@dataclass(frozen=True, slots=True)
class FactsSettings:
    """Which facts the server reads from its cluster."""

    nodes: bool = setting(False, "Read and watch nodes.", later=True)
    namespaces: bool = setting(False, "Read and watch namespaces.", later=True)
    runtime_classes: bool = setting(False, "Read and watch RuntimeClasses.")
    device_plugin: str | None = setting(None, "`namespace/name` of the device plugin's ConfigMap.", later=True)
    max_age: str = setting("15m", "Facts older than this count as unknown.", later=True)


@dataclass(frozen=True, slots=True)
class WorkloadPath:
    """Where a custom kind keeps a pod template."""

    kind: str = field(metadata={"says": "The kind, such as `JobSet`."})
    path: str = field(
        metadata={
            "says": "Such as `spec.replicatedJobs[*].template.spec.template`; "
            "`[*]` is every element of a list, `.*` every member of a mapping."
        }
    )
    group: str = setting("", "The API group; empty for the core group.")
    holds: Literal["template", "podSpec", "container"] = setting("template", "What the path ends in.")


@dataclass(frozen=True, slots=True)
class Workloads:
    """Kinds that are judged beside the built-in ones."""

    paths: tuple[WorkloadPath, ...] = setting((), "Where custom kinds keep their pod templates.")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides about a pod."""

    mode: Mode = setting("enforce", "Caps every severity: `warn` denies nothing, `audit` only records.")
    resources: tuple[Resource, ...] = setting(
        (Resource("nvidia.com/gpu"), Resource("nvidia.com/gpu.shared", renamed=True)),
        "The GPU resources of the cluster. `nvidia.com/mig-*` is always known.",
    )
    limits: Limits = setting(Limits(), "")
    deny_in_mutate: bool = setting(True, "Whether `/mutate` refuses too, or leaves that to `/validate`.")
    severities: Mapping[str, SeverityName] = setting({}, "Severity by code, such as `GPS005: deny`.")
    namespaces: tuple[NamespaceRule, ...] = setting((), "Other severities or modes by namespace.")
    exempt: Exempt = setting(Exempt(), "")
    injections: Injections = setting(Injections(), "")
    users: Users = setting(Users(), "")
    pod_security: PodSecurity = setting(PodSecurity(), "")
    placement: PlacementSettings = setting(PlacementSettings(), "")
    facts: FactsSettings = setting(FactsSettings(), "")
    workloads: Workloads = setting(Workloads(), "")
