"""What an administrator decides about injections, as frozen dataclasses with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from webhook.policy.settings.field import setting


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
