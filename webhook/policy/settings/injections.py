"""The settings of the injections, as frozen dataclasses with defaults, formats and descriptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from webhook.policy.settings import setting

if TYPE_CHECKING:
    from webhook.policy.settings.names import (
        ClassPattern,
        Folder,
        LabelValue,
        ObjectName,
        TaintEffect,
        TaintKey,
        TaintKeyPattern,
    )


@dataclass(frozen=True, slots=True)
class RuntimeClassInjection:
    """`runtimeClassName` for pods that ask for a GPU."""

    enabled: bool = setting(True, "Whether to inject it.")
    name: ObjectName = setting("nvidia", "Name of the RuntimeClass.")
    when_unknown: Literal["inject", "skip"] = setting(
        "inject", "What to do while the cluster's RuntimeClasses are unknown."
    )
    when_cdi: Literal["inject", "skip"] = setting(
        "skip",
        "What to do where the cluster injects devices through CDI, which the RuntimeClass `nvidia-legacy` shows. Set "
        "`inject` before GPU operator 25.10 if `cdi.enabled` is true and `nvidia` is not the nodes' default runtime.",
    )
    sandboxes: tuple[ClassPattern, ...] = setting(
        ("gvisor", "runsc", "kata*"), "Classes or handlers with which MPS does not work (GPS011)."
    )


@dataclass(frozen=True, slots=True)
class PipeDirectoryInjection:
    """`CUDA_MPS_PIPE_DIRECTORY` for containers that ask for a shared resource."""

    enabled: bool = setting(True, "Whether to inject it.")
    container_root: Folder = setting(
        "/mps", "Folder in the container; the pipe directory is `<containerRoot>/<resource>/pipe`."
    )
    per_resource: bool = setting(True, "false: the pipe directory is `containerRoot` itself, on the host `mpsRoot`.")
    when: Literal["could-land", "always"] = setting(
        "could-land",
        "`could-land`: unless the facts show a candidate node without MPS (the plugin sets it). `always`: even then.",
    )


@dataclass(frozen=True, slots=True)
class PipeMountInjection:
    """The hostPath mount of the pipe directory, for the same containers."""

    enabled: bool = setting(True, "Whether to inject it.")
    mps_root: Folder = setting("/run/nvidia/mps", "The MPS root on the host.")
    type: Literal["", "Directory", "DirectoryOrCreate"] = setting(
        "DirectoryOrCreate", "The hostPath's type. With `Directory`, pods cannot start on nodes without MPS."
    )
    read_only: bool = setting(False, "Whether the mount is read-only. MPS works through a read-only mount.")
    safe_to_evict: bool = setting(
        True, "Whether to name the volume in `cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`."
    )


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration as a pod carries it."""

    key: TaintKey = field(metadata={"description": "The taint's key."})
    operator: Literal["Exists", "Equal"] = setting("Exists", "How the toleration matches the taint.")
    value: LabelValue | None = setting(None, "The taint's value, for `Equal`.")
    effect: TaintEffect | None = setting("NoSchedule", "The taint's effect. null: every effect.")


@dataclass(frozen=True, slots=True)
class TolerationInjection:
    """Tolerations for pods that ask for a GPU."""

    enabled: bool = setting(True, "Whether to inject them.")
    add: tuple[Toleration, ...] = setting((Toleration("nvidia.com/gpu"),), "The tolerations.")
    resource_name: bool = setting(True, "Whether to tolerate the resource's own name too, if the resource is renamed.")
    from_nodes: tuple[TaintKeyPattern, ...] = setting(
        (), "Keys of taints to tolerate if known nodes that offer the resource have them; `*` stands for any text."
    )


@dataclass(frozen=True, slots=True)
class LimitsInjection:
    """`CUDA_MPS_*` limits, from the annotations of a pod."""

    enabled: bool = setting(True, "Whether to read the annotations.")


@dataclass(frozen=True, slots=True)
class MemoryInjection:
    """Placement by memory, from the annotation `gpushare-webhook/memory` of a pod."""

    enabled: bool = setting(False, "Whether to read the annotation. Needs known nodes: `facts.nodes` or a facts file.")


@dataclass(frozen=True, slots=True)
class VoidDevicesInjection:
    """`NVIDIA_VISIBLE_DEVICES=void`, for containers that ask for no GPU."""

    enabled: bool = setting(False, "Whether to inject it.")
    pods: Literal["gpu", "all"] = setting("gpu", "`gpu`: in pods that ask for a GPU. `all`: in every pod.")


@dataclass(frozen=True, slots=True)
class SteeringInjection:
    """Node affinity that keeps pods over the limit off shared GPUs, instead of a rejection."""

    enabled: bool = setting(False, "Whether to inject it.")


@dataclass(frozen=True, slots=True)
class Injections:
    """What the webhook injects into pods when they are created."""

    runtime_class: RuntimeClassInjection = setting(RuntimeClassInjection())
    pipe_directory: PipeDirectoryInjection = setting(PipeDirectoryInjection())
    pipe_mount: PipeMountInjection = setting(PipeMountInjection())
    tolerations: TolerationInjection = setting(TolerationInjection())
    limits: LimitsInjection = setting(LimitsInjection())
    memory: MemoryInjection = setting(MemoryInjection())
    void_devices: VoidDevicesInjection = setting(VoidDevicesInjection())
    steering: SteeringInjection = setting(SteeringInjection())
