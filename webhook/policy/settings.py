"""What an administrator decides, as frozen dataclasses with their defaults.

The settings file spells the names in camelCase; `webhook.settings` reads and validates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast

T = TypeVar("T")

Mode = Literal["enforce", "warn", "audit"]
SeverityName = Literal["deny", "warn", "audit", "off"]
Level = Literal["privileged", "baseline", "restricted"]


def setting(default: T, says: str, *, later: bool = False) -> T:
    """A field with its default and the sentence that the reference prints about it.

    `later`: the key is accepted and checked, but what differs from the default has no effect in this release.
    """
    metadata = {"says": says, "later": later}
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)


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
class RuntimeClassInjection:
    """`runtimeClassName` for pods that ask for a GPU."""

    enabled: bool = setting(True, "Whether it is injected.")
    name: str = setting("nvidia", "The RuntimeClass.")
    when_unknown: Literal["inject", "skip"] = setting(
        "inject", "What to do while nothing is known of the cluster's RuntimeClasses."
    )
    sandboxes: tuple[str, ...] = setting(
        ("gvisor", "runsc", "kata*"), "Classes or handlers in which MPS does not work (GPS011)."
    )


@dataclass(frozen=True, slots=True)
class PipeDirectoryInjection:
    """`CUDA_MPS_PIPE_DIRECTORY` for containers that ask."""

    enabled: bool = setting(True, "Whether it is injected.")
    container_root: str = setting(
        "/mps", "Folder in the container; the pipe directory is `<containerRoot>/<resource>/pipe`."
    )
    per_resource: bool = setting(True, "false: `containerRoot` itself is the pipe directory, and `mpsRoot` the host's.")
    when: Literal["could-land", "always"] = setting(
        "could-land",
        "`could-land`: not where facts show a candidate node without MPS (the plugin sets it). `always`: there too.",
    )


@dataclass(frozen=True, slots=True)
class PipeMountInjection:
    """The hostPath mount of the pipe directory, in the same containers."""

    enabled: bool = setting(True, "Whether it is injected.")
    mps_root: str = setting("/run/nvidia/mps", "The MPS root on the host.")
    type: Literal["", "Directory", "DirectoryOrCreate"] = setting(
        "DirectoryOrCreate", "The hostPath's type. With `Directory` pods hang on nodes without MPS."
    )
    read_only: bool = setting(False, "Whether the mount is read-only. Sockets and FIFOs work through it.")
    safe_to_evict: bool = setting(
        True, "Names the volume in `cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`."
    )


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration as a pod carries it."""

    key: str = field(metadata={"says": "The taint's key."})
    operator: Literal["Exists", "Equal"] = setting("Exists", "How the taint is matched.")
    value: str | None = setting(None, "The taint's value, with `Equal`.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = setting(
        "NoSchedule", "The taint's effect. null: every effect."
    )


@dataclass(frozen=True, slots=True)
class TolerationInjection:
    """Tolerations for pods that ask for a GPU."""

    enabled: bool = setting(True, "Whether they are injected.")
    add: tuple[Toleration, ...] = setting((Toleration("nvidia.com/gpu"),), "What is added.")
    resource_name: bool = setting(True, "Also tolerate the resource's own name when it is renamed.")
    from_nodes: tuple[str, ...] = setting(
        (), "Keys of taints to tolerate where known nodes that offer the resource carry them; `*` stands for any text."
    )


@dataclass(frozen=True, slots=True)
class LimitsInjection:
    """`CUDA_MPS_*` limits from the pod's annotations."""

    enabled: bool = setting(True, "Whether the annotations are read.")


@dataclass(frozen=True, slots=True)
class VoidDevicesInjection:
    """`NVIDIA_VISIBLE_DEVICES=void` for containers that ask for no GPU."""

    enabled: bool = setting(False, "Whether it is injected.")
    pods: Literal["gpu", "all"] = setting("gpu", "`gpu`: in pods that ask for a GPU. `all`: in every pod.")


@dataclass(frozen=True, slots=True)
class SteeringInjection:
    """Node affinity away from shared GPUs for pods over the limit, instead of a refusal."""

    enabled: bool = setting(False, "Whether it is injected.")


@dataclass(frozen=True, slots=True)
class Injections:
    """What is injected into pods on CREATE."""

    runtime_class: RuntimeClassInjection = setting(RuntimeClassInjection(), "")
    pipe_directory: PipeDirectoryInjection = setting(PipeDirectoryInjection(), "")
    pipe_mount: PipeMountInjection = setting(PipeMountInjection(), "")
    tolerations: TolerationInjection = setting(TolerationInjection(), "")
    limits: LimitsInjection = setting(LimitsInjection(), "")
    void_devices: VoidDevicesInjection = setting(VoidDevicesInjection(), "")
    steering: SteeringInjection = setting(SteeringInjection(), "")


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
    runtime_classes: bool = setting(False, "Read and watch RuntimeClasses.", later=True)
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
