"""Any pod that the Pod schema allows, with all that is of interest to us frequent."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.strategies.schema import Schema, Strategy

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
MIG = "nvidia.com/mig-1g.5gb"
WHOLE = "example.com/whole"

RESOURCES = [GPU, GPU, GPU, GPU, SHARED, MIG, WHOLE, "nvidia.com/gpus", "nvidia.com/vgpu", "cpu", "memory", "nonsense"]
ODD_TEXTS = ["2", "1000m", "1e0", "1k", "+1", "1.", " 1 ", "0.5", "-0", "1Ei", "1e30", "x", "", "1 2"]
ODD_QUANTITIES = [*ODD_TEXTS, 2, 3, 0.5, 1.0, -1, 10**30, None, True]
QUANTITIES: Strategy = st.sampled_from(["1", 1, "0", 0]) | st.sampled_from(ODD_QUANTITIES)

VARIABLES = [
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_MPS_CLIENT_PRIORITY",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "NVIDIA_VISIBLE_DEVICES",
    "PATH",
]
HOST_DAEMON = "/tmp/nvidia-mps"  # noqa: S108 - CUDA's default, in the container and on the host
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container
PIPE = "/mps/nvidia.com/gpu/pipe"
VALUES = [PIPE, "/mps/nvidia.com/gpu.shared/pipe/", HOST_DAEMON, *"all void 50 100 0=4G 1 9".split(), "", "$(X)"]
DEVICES = "/var/run/nvidia-container-devices/all"
MOUNTS = [DEVICES, PIPE, f"{PIPE}/log", "/mps", SHARED_MEMORY, HOST_DAEMON, "/data/", ""]
VOLUMES = ["gpushare-mps-nvidia-com-gpu", "gpushare-mps-nvidia-com-gpu-2", "shm", "work"]
HOST_PATHS = ["/run/nvidia/mps/nvidia.com/gpu/pipe", "/run/nvidia/mps", HOST_DAEMON, "/"]
LABELS = {
    "nvidia.com/gpu.sharing-strategy": ["mps", "none", "time-slicing"],
    "nvidia.com/mps.capable": ["true", "false"],
    "nvidia.com/gpu.replicas": ["1", "2", "4"],
    "nvidia.com/gpu.memory": ["16384", "40960"],
    "nvidia.com/gpu.product": ["Tesla-T4", "Tesla-T4-SHARED"],
    "pool": ["gpu", "cpu"],
    "kubernetes.io/os": ["linux", "linux", "windows"],
}
TAINTS = [GPU, SHARED, "dedicated", ""]
NODES = ["shared-1", "whole-1", "ghost"]
ANNOTATIONS = {
    "gpushare-webhook/active-thread-percentage": ["50", "12.5", "0", "x"],
    "gpushare-webhook/pinned-device-memory-limit": ["4G", "0=4G,1=512M", "4"],
    "gpushare-webhook/client-priority": ["0", "1", "2"],
    "gpushare-webhook/unknown": ["1"],
    "gpu-fraction": ["0.5"],
    "gpu-fraction-container-name": ["c0", "c1", "absent"],
    "nvidia.com/container.c0.gpu-memory.limit": ["2Gi", "16", "x"],
    "nvidia.com/container.c1.gpu-memory.request": ["2Gi", "4Gi"],
    "nvidia.com/container.c1.gpu-compute.mode": ["sm-sharing", "mps"],
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": ["", "work", "work, gpushare-mps-nvidia-com-gpu"],
    "kubernetes.io/config.mirror": ["x"],
    "a~/b": ["1"],
}


@st.composite
def labels(draw: st.DrawFn, known: dict[str, list[str]] = LABELS) -> dict[str, Any]:
    """Some labels or annotations with values that mean something, a null at times."""
    keys = draw(st.lists(st.sampled_from(sorted(known)), max_size=2, unique=True))
    return {key: draw(st.sampled_from([*known[key] * 4, None])) for key in keys}


@st.composite
def _expressions(draw: st.DrawFn) -> dict[str, Any]:
    key = draw(st.sampled_from(sorted(LABELS)))
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = ["1", "2", "3"] if operator in ("Gt", "Lt") else LABELS[key]
    some = st.lists(st.sampled_from(values), min_size=1, max_size=1 if operator in ("Gt", "Lt") else 2)
    return {"key": key, "operator": operator, "values": draw(some)}


@st.composite
def _resources(draw: st.DrawFn) -> dict[str, Any]:
    amounts = st.dictionaries(st.sampled_from(RESOURCES), QUANTITIES, max_size=2)
    limits = draw(amounts)
    match draw(st.integers(0, 7)):
        case 0:
            return {"limits": limits, "requests": draw(amounts)}
        case 1:
            return {"requests": limits}
        case 2:
            return {"limits": limits, "requests": limits, "claims": [{"name": "gpu"}]}
        case 3:
            return {"limits": None, "requests": None}
        case _:
            return {"limits": limits}


def _among(words: list[str]) -> Strategy:
    return st.sampled_from(words)


_EXPRESSION: Strategy = _expressions()

_SCHEMA = Schema(
    often={
        "V1PodSpec": ("affinity", "nodeSelector", "runtimeClassName", "securityContext", "tolerations", "volumes"),
        "V1Container": ("env", "resources", "securityContext", "volumeMounts"),
        "V1EnvVar": ("name", "value"),
        "V1VolumeMount": ("name", "mountPath"),
        "V1Volume": ("name", "hostPath"),
        "V1HostPathVolumeSource": ("path", "type"),
        "V1Toleration": ("key", "operator", "value", "effect"),
        "V1Affinity": ("nodeAffinity",),
        "V1NodeAffinity": ("requiredDuringSchedulingIgnoredDuringExecution",),
        "V1NodeSelector": ("nodeSelectorTerms",),
        "V1NodeSelectorTerm": ("matchExpressions",),
        "V1SecurityContext": ("privileged", "runAsUser"),
        "V1PodSecurityContext": ("runAsUser",),
        "V1ObjectMeta": ("annotations",),
    },
    values={
        ("V1ObjectMeta", "annotations"): labels(ANNOTATIONS),
        ("V1PodSpec", "nodeSelector"): labels(),
        ("V1PodSpec", "nodeName"): _among(NODES),
        ("V1PodSpec", "runtimeClassName"): _among(["nvidia", "gvisor", "kata-qemu", "absent"]),
        ("V1PodSpec", "schedulingGates"): st.just([{"name": "example.com/queue"}]),
        ("V1PodOS", "name"): _among(["linux", "windows"]),
        ("V1Container", "resources"): _resources(),
        ("V1Container", "restartPolicy"): _among(["Always", "Never"]),
        ("V1EnvVar", "name"): _among(VARIABLES),
        ("V1EnvVar", "value"): _among(VALUES),
        ("V1VolumeMount", "name"): _among(VOLUMES),
        ("V1VolumeMount", "mountPath"): _among(MOUNTS),
        ("V1VolumeMount", "subPath"): _among(["", "nvidia.com/gpu/pipe", "../x"]),
        ("V1Volume", "name"): _among(VOLUMES),
        ("V1HostPathVolumeSource", "path"): _among(HOST_PATHS),
        ("V1HostPathVolumeSource", "type"): _among(["", "Directory", "DirectoryOrCreate"]),
        ("V1Toleration", "key"): _among(TAINTS),
        ("V1Toleration", "operator"): _among(["Exists", "Equal", "", "Gt"]),
        ("V1Toleration", "value"): _among(["", "present", "5"]),
        ("V1Toleration", "effect"): _among(["", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
        ("V1NodeSelectorTerm", "matchExpressions"): st.lists(_EXPRESSION, max_size=2),
        ("V1NodeSelectorTerm", "matchFields"): st.just(
            [{"key": "metadata.name", "operator": "In", "values": ["whole-1"]}]
        ),
        ("V1SecurityContext", "runAsUser"): st.sampled_from([0, 1000, 2**63 - 1]),
        ("V1PodSecurityContext", "runAsUser"): st.sampled_from([0, 1000]),
    },
)


_ONE_ASK = st.builds(
    lambda name, amount: {name: amount},
    st.sampled_from([GPU, GPU, GPU, GPU, SHARED, MIG]),
    st.sampled_from(["1", 1, "1", 2]),
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A Pod. Containers have names of their own, as the API server demands."""
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    pod |= draw(st.fixed_dictionaries({}, optional={"metadata": _SCHEMA.model("V1ObjectMeta") | st.none()}))
    spec = draw(_SCHEMA.model("V1PodSpec"))
    spec["containers"] = draw(st.lists(_SCHEMA.model("V1Container"), min_size=1, max_size=3))
    if draw(st.booleans()):
        spec["initContainers"] = draw(st.lists(_SCHEMA.model("V1Container"), max_size=2))
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or []):
            container["name"] = f"{field[0]}-{index}"
    for container in draw(st.sampled_from([[], spec["containers"][:1], spec["containers"][:1], spec["containers"]])):
        container["resources"] = {"limits": draw(_ONE_ASK)}
    pod["spec"] = spec
    return pod
