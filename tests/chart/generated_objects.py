"""Objects that differ in what the policies of the API server depend on, generated from a seed.

Half of the values are the ones that matter, so that most objects have a finding and few have the same.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.chart.matching import request
from webhook.policy.placement.cluster_objects import DevicePlugin, Node, Taint
from webhook.policy.placement.facts import Facts

Object = dict[str, Any]

SETTINGS: tuple[Object, ...] = (
    {},
    {
        "limits": {"perContainer": 2, "perPod": 3, "timeSlicing": {"perContainer": 2}},
        "resources": [
            {"name": "nvidia.com/gpu"},
            {"name": "nvidia.com/gpu.shared", "renamed": True},
            {"name": "example.com/card", "kind": "whole"},
        ],
        "severities": {"GPS004": "warn", "GPS015": "deny", "GPS018": "audit"},
        "users": {"hostIPC": "required"},
    },
    {
        "limits": {"perContainer": None, "perPod": 2},
        "placement": {"mpsLabels": {"example.com/pool": "mps"}, "timeSlicingLabels": {}},
        "injections": {"pipeDirectory": {"perResource": False}},
        "exempt": {"annotation": "example.com/exempt=yes"},
        "namespaces": [{"names": ["t*m"], "severities": {"GPS001": "warn"}}],
    },
    {
        "limits": {"perContainer": 1, "perPod": None, "timeSlicing": {"perContainer": 1}},
        "placement": {"mpsLabels": {}, "timeSlicingLabels": {"example.com/pool": "sliced"}},
    },
)
"""Bodies of settings files."""

_NAMES = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "example.com/card")
_AMOUNTS = ("1", "1", "2", "2", "3", "0", "500m", "1500m", "-1", "1e3", "12345678", "3Gi", "1e30", "1k")
_LABELS = ("nvidia.com/mps.capable", "nvidia.com/gpu.sharing-strategy", "nvidia.com/gpu.replicas")
_KEYS = (*_LABELS, "nvidia.com/gpu.product", "example.com/pool", "zone")
_VALUES = ("true", "false", "mps", "time-slicing", "none", "1", "4", "0", "A100-SHARED", "A100", "sliced", "a")
_OPERATORS = ("In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_PATHS = (
    "/mps/nvidia.com/gpu/pipe",
    "/mps//nvidia.com/gpu/./pipe/",
    "/mps/x/../nvidia.com/gpu/pipe",
    "/mps/nvidia.com/gpu/pipe/log",
    "/mps/nvidia.com/gpu.shared/pipe",
    "/mps",
    "/data",
    "mps",
)
_HOSTS = ("/run/nvidia/mps/nvidia.com/gpu/pipe", "/run/nvidia/mps/nvidia.com", "/run/nvidia/mps/", "/srv/x")
_ANNOTATIONS = {
    "gpushare-webhook/active-thread-percentage": ("30", "0", "100.5", "12.5", "x", ""),
    "gpushare-webhook/pinned-device-memory-limit": ("0=2G", "2G,1=3M", "0=1G,0=2G", "0=0G", " 3=5MB ", "64=1G", "5K"),
    "gpushare-webhook/client-priority": ("0", "1", "2", "high\npriority", "x" * 200),
    "gpushare-webhook/memory": ("3Gi",),
    "gpushare-webhook/injected": ("limits",),
    "gpushare-webhook/unknown": ("1",),
    "example.com/exempt": ("yes", "no"),
}


def generated(random: Random) -> Object:
    """The request for a new or changed object: a Pod, a workload or an object of a custom kind."""
    template = {"metadata": _metadata(random), "spec": _spec(random)}
    manifest = _object(random, template)
    if manifest["kind"] == "Pod" and _happens(random, 0.2):
        before = {**manifest, "spec": {**manifest["spec"], "schedulingGates": [{"name": "example.com/wait"}]}}
        return request(manifest, before=before)
    if manifest["kind"] != "Pod" and _happens(random, 0.2):
        other = template if _happens(random, 0.5) else {"metadata": {}, "spec": _spec(random)}
        return request(manifest, before=_of_kind(manifest["kind"], other))
    return request(manifest)


def _object(random: Random, template: Object) -> Object:
    return _of_kind(
        random.choice(("Pod", "Pod", "Pod", "Deployment", "CronJob", "Job", "JobSet", "PyTorchJob")), template
    )


def _of_kind(kind: str, template: Object) -> Object:
    jobs = [{"template": {"spec": {"template": template}}}, {"template": {"spec": {"template": template}}}]
    versions, specs = {
        "Pod": ("v1", None),
        "Deployment": ("apps/v1", {"template": template}),
        "Job": ("batch/v1", {"template": template}),
        "CronJob": ("batch/v1", {"jobTemplate": {"spec": {"template": template}}}),
        "JobSet": ("jobset.x-k8s.io/v1alpha2", {"replicatedJobs": jobs}),
        "PyTorchJob": ("kubeflow.org/v1", {"pytorchReplicaSpecs": {"Worker": {"template": template}}}),
    }[kind]
    if specs is None:
        return {"apiVersion": versions, "kind": kind, **template}
    return {"apiVersion": versions, "kind": kind, "metadata": {"name": "generated"}, "spec": specs}


def _metadata(random: Random) -> Object:
    keys = random.sample(sorted(_ANNOTATIONS), k=random.choice((0, 0, 0, 1, 2)))
    return {"name": "generated", "annotations": {key: random.choice(_ANNOTATIONS[key]) for key in keys}}


def _spec(random: Random) -> Object:
    spec: Object = {"containers": [_container(random, f"c{index}") for index in range(random.choice((1, 1, 2, 3)))]}
    if _happens(random, 0.3):
        spec["initContainers"] = [
            _container(random, f"init{index}") | random.choice(({}, {"restartPolicy": "Always"}))
            for index in range(random.choice((1, 2, 3)))
        ]
    if _happens(random, 0.4):
        spec["nodeSelector"] = {random.choice(_KEYS): random.choice(_VALUES) for _ in range(random.choice((1, 2)))}
    if _happens(random, 0.4):
        terms = [_term(random) for _ in range(random.choice((0, 1, 1, 2)))]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    for field, value in (("hostIPC", True), ("hostPID", True), ("hostUsers", False), ("nodeName", "node-1")):
        if _happens(random, 0.1):
            spec[field] = value
    if _happens(random, 0.1):
        spec["terminationGracePeriodSeconds"] = random.choice((0, 0, 30))
    if _happens(random, 0.05):
        spec["os"] = {"name": random.choice(("windows", "linux"))}
    if _happens(random, 0.5):
        spec["volumes"] = [
            {"name": "host", "hostPath": {"path": random.choice(_HOSTS)}},
            {"name": "scratch", "emptyDir": {}},
        ]
    if _happens(random, 0.05):
        spec["resources"] = {"limits": {random.choice(_NAMES): "1"}}
    return spec


def _term(random: Random) -> Object:
    expressions = [_expression(random) for _ in range(random.choice((0, 1, 2, 3)))]
    term: Object = {"matchExpressions": expressions} if expressions else {}
    if _happens(random, 0.1):
        term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]
    return term


def _expression(random: Random) -> Object:
    operator = random.choice(_OPERATORS)
    if operator in ("Exists", "DoesNotExist"):
        return {"key": random.choice(_KEYS), "operator": operator}
    if operator in ("Gt", "Lt"):
        values = [random.choice(("0", "1", "2", "4", "+3", "007", "x", "99999999999999999999"))]
        return {"key": random.choice(_KEYS), "operator": operator, "values": values}
    return {
        "key": random.choice(_KEYS),
        "operator": operator,
        "values": random.sample(_VALUES, k=random.choice((1, 2))),
    }


def _container(random: Random, name: str) -> Object:
    made: Object = {"name": name if _happens(random, 0.9) else name + "-with-a-long-name" * 5, "image": "x"}
    names = random.sample(sorted(set(_NAMES)), k=random.choice((0, 1, 1, 1, 2)))
    limits = {each: random.choice(_AMOUNTS) for each in names if _happens(random, 0.9)}
    requests = {each: limits.get(each, "1") for each in names if _happens(random, 0.5)}
    if requests and _happens(random, 0.2):
        requests[random.choice(sorted(requests))] = random.choice(_AMOUNTS)
    if _happens(random, 0.03):
        limits["volcano.sh/vgpu-memory"] = "1"
    made["resources"] = {"limits": limits, "requests": requests}
    if _happens(random, 0.4):
        made["env"] = [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": random.choice((*_PATHS, "$(OTHER)/pipe"))}]
    if _happens(random, 0.4):
        made["volumeMounts"] = [_mount(random) for _ in range(random.choice((1, 2)))]
    return made


def _mount(random: Random) -> Object:
    volume = random.choice(("host", "host", "scratch", "gpushare-mps-nvidia-com-gpu", "missing"))
    mount = {"name": volume, "mountPath": random.choice(_PATHS)}
    return mount | random.choice(({}, {}, {"subPath": "gpu/pipe"}, {"subPath": "nvidia.com/gpu/pipe"}))


def _happens(random: Random, share: float) -> bool:
    return random.random() < share


_MPS = {
    "nvidia.com/mps.capable": "true",
    "nvidia.com/gpu.sharing-strategy": "mps",
    "nvidia.com/gpu.replicas": "4",
    "nvidia.com/gpu.product": "A100-SHARED",
}


def generated_facts(random: Random) -> Facts:
    """A small cluster, in most cases one in which all GPU nodes share through MPS."""
    nodes = [_node(random, f"node-{number}") for number in range(random.choice((0, 1, 2, 3)))]
    plugins = (None, None, None, DevicePlugin(True, "v0.20.0"), DevicePlugin(False, "v0.20.0"))
    return Facts(nodes=tuple(nodes), device_plugin=random.choice(plugins))


def _node(random: Random, name: str) -> Node:
    labels = {key: value for key, value in _MPS.items() if _happens(random, 0.8)}
    labels |= random.choice(({}, {"zone": "a"}, {"zone": "true"}))
    if _happens(random, 0.1):
        labels["nvidia.com/gpu.sharing-strategy"] = random.choice(("none", "time-slicing"))
    taints = (Taint("gpu", "NoSchedule"),) if _happens(random, 0.2) else ()
    names = random.sample(sorted(set(_NAMES)), k=random.choice((0, 1, 1, 2, 3)))
    return Node(name, labels, taints, {each: random.choice((0, 1, 4, 4)) for each in names})
