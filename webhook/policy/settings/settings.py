"""The settings of a cluster, as frozen dataclasses with defaults, formats and descriptions.

The settings file has the names in camelCase; `webhook.settings` loads and validates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from webhook.policy.settings import Section, required, setting

if TYPE_CHECKING:
    from webhook.policy.settings import elements, formats


@dataclass(frozen=True, slots=True)  # each name of a MIG slice in a review makes one
class Resource:
    """An extended resource whose units are GPUs or shares of GPUs."""

    name: formats.ResourceName = field(metadata={"description": "The resource's name, such as `nvidia.com/gpu`."})
    kind: Literal["shared", "whole", "mig"] = setting(
        "shared", "`shared`: its units are replicas on some nodes. `whole`: whole cards. `mig`: MIG slices."
    )
    renamed: bool = setting(False, "Only sharing nodes offer the name (the plugin's `renameByDefault`).")


class TimeSlicingLimits(Section):
    """How many replicas pods may ask for where GPUs are shared through time-slicing."""

    per_container: formats.Count | None = setting(
        None,
        "Replicas that one container may ask for (GPS001). Set 1 where the device plugin runs with "
        "`failRequestsGreaterThanOne: true`. null: no limit.",
    )


class Limits(Section):
    """How many replicas pods may ask for where GPUs are shared."""

    per_container: formats.Count | None = setting(
        1, "Replicas that one container may ask for on MPS nodes (GPS001). null: no limit."
    )
    per_pod: formats.Count | None = setting(
        1, "Replicas that a pod may ask for as a whole on MPS nodes (GPS002). null: no limit."
    )
    time_slicing: TimeSlicingLimits = TimeSlicingLimits()
    mps_may_accept_more: bool = setting(
        False,
        "The device plugin accepts more on some MPS nodes, as GKE's does on nodes with one card: GPS001 and GPS002 "
        "deny only where every node that could take the pod time-slices, and warn elsewhere.",
    )
    from_device_plugin: bool = setting(
        False,
        "Takes the limits from the device plugin's configuration, per node and strategy, up or down; where it is "
        "unknown, this section applies.",
    )


class Exempt(Section):
    """Namespaces and pods that the webhook neither changes nor checks."""

    namespaces: tuple[formats.NamespaceName, ...] = setting(
        ("kube-system", "kube-node-lease", "gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin"),
        "Exempt namespaces.",
    )
    label: formats.OptOutLabel | None = setting(
        None, "A label, `key` or `key=value` (`true` when omitted), that exempts a namespace which has it."
    )
    annotation: formats.OptOutAnnotation | None = setting(
        None, "An annotation, in the same form, that exempts a pod. Anyone who creates pods can set it. null: none."
    )


class Suppress(Section):
    """What may suppress single findings. Every suppressed finding is counted and reported."""

    comments: bool = setting(
        False,
        "Whether comments such as `# gpushare-webhook: ignore GPS001` in a file suppress findings of `check`. The "
        "cluster does not see comments.",
    )


class RuntimeClassInjection(Section):
    """`runtimeClassName` for pods that ask for a GPU."""

    enabled: bool = setting(True, "Whether to inject it.")
    name: formats.ObjectName = setting("nvidia", "Name of the RuntimeClass.")
    when_unknown: Literal["inject", "skip"] = setting(
        "inject", "What to do while the cluster's RuntimeClasses are unknown."
    )
    when_cdi: Literal["inject", "skip"] = setting(
        "skip",
        "What to do where the cluster injects devices through CDI, which the RuntimeClass `nvidia-legacy` shows. Set "
        "`inject` before GPU operator 25.10 if `cdi.enabled` is true and `nvidia` is not the nodes' default runtime.",
    )
    sandboxes: tuple[formats.ClassPattern, ...] = setting(
        ("gvisor", "runsc", "kata*"), "Classes or handlers with which MPS does not work (GPS011)."
    )


class PipeDirectoryInjection(Section):
    """`CUDA_MPS_PIPE_DIRECTORY` for containers that ask for a shared resource."""

    enabled: bool = setting(True, "Whether to inject it.")
    container_root: formats.Folder = setting(
        "/mps", "Folder in the container; the pipe directory is `<containerRoot>/<resource>/pipe`."
    )
    per_resource: bool = setting(True, "false: the pipe directory is `containerRoot` itself, on the host `mpsRoot`.")
    when: Literal["could-land", "always"] = setting(
        "could-land",
        "`could-land`: unless the facts show a candidate node without MPS (the plugin sets it). `always`: even then.",
    )


class PipeMountInjection(Section):
    """The hostPath mount of the pipe directory, for the same containers."""

    enabled: bool = setting(True, "Whether to inject it.")
    mps_root: formats.Folder = setting("/run/nvidia/mps", "The MPS root on the host.")
    type: Literal["", "Directory", "DirectoryOrCreate"] = setting(
        "DirectoryOrCreate", "The hostPath's type. With `Directory`, pods cannot start on nodes without MPS."
    )
    read_only: bool = setting(False, "Whether the mount is read-only. MPS works through a read-only mount.")
    safe_to_evict: bool = setting(
        True, "Whether to name the volume in `cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`."
    )


class Toleration(Section):
    """A toleration as a pod carries it."""

    key: formats.TaintKey = required("The taint's key.")
    operator: Literal["Exists", "Equal"] = setting("Exists", "How the toleration matches the taint.")
    value: formats.LabelValue | None = setting(None, "The taint's value, for `Equal`.")
    effect: formats.TaintEffect | None = setting("NoSchedule", "The taint's effect. null: every effect.")


class TolerationInjection(Section):
    """Tolerations for pods that ask for a GPU."""

    enabled: bool = setting(True, "Whether to inject them.")
    add: tuple[Toleration, ...] = setting((Toleration("nvidia.com/gpu"),), "The tolerations.")
    resource_name: bool = setting(True, "Whether to tolerate the resource's own name too, if the resource is renamed.")
    from_nodes: tuple[formats.TaintKeyPattern, ...] = setting(
        (), "Keys of taints to tolerate if known nodes that offer the resource have them; `*` stands for any text."
    )


class LimitsInjection(Section):
    """`CUDA_MPS_*` limits, from the annotations of a pod."""

    enabled: bool = setting(True, "Whether to read the annotations.")


class VoidDevicesInjection(Section):
    """`NVIDIA_VISIBLE_DEVICES=void`, for containers that ask for no GPU."""

    enabled: bool = setting(False, "Whether to inject it.")
    pods: Literal["gpu", "all"] = setting("gpu", "`gpu`: in pods that ask for a GPU. `all`: in every pod.")


class SteeringInjection(Section):
    """Node affinity that keeps pods over the limit off shared GPUs, instead of a rejection."""

    enabled: bool = setting(False, "Whether to inject it.")


class Injections(Section):
    """What the webhook injects into pods when they are created."""

    mode: formats.InjectionMode | None = setting(
        None,
        "`on`: they change pods. `report`: a warning names them, and a metric counts them, but no pod changes. `off`: "
        "no injections. null: `report` where `mode` is `audit`, and `on` elsewhere.",
    )
    annotate: bool = setting(True, "Whether changed pods get the annotation `gpushare-webhook/injected`.")
    runtime_class: RuntimeClassInjection = RuntimeClassInjection()
    pipe_directory: PipeDirectoryInjection = PipeDirectoryInjection()
    pipe_mount: PipeMountInjection = PipeMountInjection()
    tolerations: TolerationInjection = TolerationInjection()
    limits: LimitsInjection = LimitsInjection()
    void_devices: VoidDevicesInjection = VoidDevicesInjection()
    steering: SteeringInjection = SteeringInjection()


class Requests(Section):
    """What counts as a request for a share of a GPU besides the resources of containers."""

    annotations: tuple[elements.AnnotationRequest, ...] = setting(
        (), "Annotations of pods. Each counts as one replica of the first shared resource, else of the first whole one."
    )
    fractions: bool = setting(
        False,
        "Whether KAI's GPU fractioning operator gives parts of cards. Its annotations are checked (GPS026), and like "
        "`annotations` count as a request for the first whole resource.",
    )


class Users(Section):
    """The user and the IPC namespace with which containers use MPS."""

    run_as_user: formats.Amount | None = setting(
        None, "ID of the user that the MPS daemon serves (GPS008). null: any, if all containers of a pod use the same."
    )
    host_ipc: formats.HostIpc = setting(
        False,
        "Whether MPS clients set `hostIPC: true` in this cluster (GPS009). false: they need not. true: they may. "
        "`required`: they must, as on GKE.",
        key="hostIPC",
    )


class PodSecurity(Section):
    """How the webhook reads the Pod Security labels of namespaces."""

    unlabelled: formats.Level = setting(
        "privileged", "The level of a namespace without the label `pod-security.kubernetes.io/enforce`."
    )


class PlacementSettings(Section):
    """How to recognise nodes that share GPUs, and which nodes may be added."""

    mps_labels: Mapping[formats.LabelKey, formats.LabelValue] = setting(
        {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps"},
        "Labels of MPS nodes; a node needs one of them. Empty: any node with GPUs may be an MPS node.",
    )
    time_slicing_labels: Mapping[formats.LabelKey, formats.LabelValue] = setting(
        {"nvidia.com/gpu.sharing-strategy": "time-slicing"},
        "Labels of nodes that share GPUs through time-slicing; a node needs one of them, and none of `mpsLabels`.",
    )
    node_groups: tuple[elements.NodeGroup, ...] = setting(
        (), "Groups of nodes that an autoscaler may add. They count like nodes where nodes are known."
    )
    groups_are_complete: bool = setting(
        False, "The groups describe all GPU nodes of the cluster: they count like nodes even where nodes are unknown."
    )


class FactsSettings(Section):
    """Facts that the server reads from its cluster. Each needs rights of its own, which the chart grants."""

    nodes: bool = setting(False, "Reads and watches nodes, and keeps those with GPUs.")
    namespaces: bool = setting(False, "Reads and watches the labels of namespaces.")
    runtime_classes: bool = setting(False, "Reads and watches RuntimeClasses.")
    device_classes: bool = setting(False, "Reads and watches DeviceClasses.")
    device_plugin: elements.DevicePluginSource | None = setting(
        None,
        "Where to read the device plugin's configuration: `namespace/name` of its ConfigMap, or a mapping.",
        shorthand="configMaps",
    )
    max_age: formats.Seconds = setting(
        900.0,
        "Age at which unconfirmed facts count as unknown, except RuntimeClasses. The API server confirms "
        "facts once per minute, so less than 2m counts as 2m.",
    )

    @property
    def are_wanted(self) -> bool:
        of_nodes = self.nodes or self.device_classes or self.device_plugin is not None
        return of_nodes or self.namespaces or self.runtime_classes


PresetName = Literal[
    "all",
    "argo-rollouts",
    "argo-workflows",
    "dynamo",
    "jobset",
    "knative",
    "kserve",
    "kuberay",
    "leaderworkerset",
    "nim",
    "notebooks",
    "spark",
    "tekton",
    "trainer",
    "training-operator",
    "volcano",
]


class Workloads(Section):
    """Kinds that the webhook checks besides the built-in ones."""

    presets: tuple[PresetName, ...] = setting(("all",), "Presets of custom kinds that are checked.")
    paths: tuple[elements.WorkloadPath, ...] = setting((), "Where custom kinds keep their pod templates.")
    default_queue: bool | None = setting(
        None,
        "Whether namespaces have a LocalQueue of Kueue named `default`, which queues Jobs that name no queue. The "
        "command line then takes the nodes of their pods as chosen later. null: those of the facts "
        "(`defaultQueues`), and of the objects that `check` reads.",
    )


class Sharing(Section):
    """Who may use shared GPUs."""

    namespaces: elements.LabelSelector | None = setting(
        None,
        "Namespaces whose pods may use shared GPUs (GPS025). Needs `facts.namespaces`. null: all namespaces.",
    )


class Guard(Section):
    """The guard in the API server, which denies while no replica answers."""

    enabled: bool = setting(
        False,
        "Whether the cluster has the guard of `gpushare-webhook export guard`: `/mutate` then gives each pod that asks "
        "for a GPU the annotation `gpushare-webhook/injected`, by which the guard leaves it to `/validate`. The chart "
        "sets it.",
    )


class Settings(Section):
    """All settings that the verdict on a pod depends on."""

    mode: formats.Mode = setting(
        "enforce", "Caps every severity: `warn` denies nothing; `audit` only records findings."
    )
    resources: tuple[Resource, ...] = setting(
        (Resource("nvidia.com/gpu"), Resource("nvidia.com/gpu.shared", renamed=True)),
        "The cluster's GPU resources. `nvidia.com/mig-*` needs no entry.",
    )
    limits: Limits = Limits()
    deny_in_mutate: bool = setting(True, "Whether `/mutate` rejects pods too, or leaves that to `/validate`.")
    severities: formats.Severities = setting({}, "Severities by code, such as `GPS005: deny`.")
    namespaces: tuple[elements.NamespaceRule, ...] = setting((), "Severities and modes by namespace.")
    sharing: Sharing = Sharing()
    exempt: Exempt = Exempt()
    suppress: Suppress = Suppress()
    injections: Injections = Injections()
    requests: Requests = Requests()
    users: Users = Users()
    pod_security: PodSecurity = PodSecurity()
    placement: PlacementSettings = PlacementSettings()
    facts: FactsSettings = FactsSettings()
    workloads: Workloads = Workloads()
    guard: Guard = Guard()
    message_suffix: formats.Line | None = setting(
        None, "The last line of each denial in the cluster, such as `Ask #gpu-help.` null: none."
    )
    explain_url: formats.WebAddress | None = setting(
        None,
        "A link to more information, on the line before it: `{code}` in it stands for the first denying code in "
        "lowercase, `{CODE}` in uppercase. null: the command `gpushare-webhook explain CODE`.",
        key="explainURL",
    )
