"""Reviews that consist of one kind of element: what a hostile tenant, or a direct caller, makes as large as possible.

The shapes that name two lists grow both at once, since their product must not show. `sender` says whether an object of
this shape passes the API server (its decoding and its limit of 3 MiB), or needs a caller that reaches the port.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from webhook.admission.review import CONTAINERS, KEYS

Json = dict[str, Any]
Sender = Literal["tenant", "direct caller"]

GPU = "nvidia.com/gpu"
PIPE = "/mps/nvidia.com/gpu/pipe"


@dataclass(frozen=True, slots=True)
class Shape:
    """A pod as a function of how many elements it has."""

    pod: Callable[[int], Json]
    sender: Sender = "tenant"

    def review(self, count: int) -> bytes:
        """The review of the pod with this many elements."""
        request = {
            "uid": "5f6f3a1c-6a0b-4a37-9c1b-8a3f4f1f5f11",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE",
            "namespace": "team-a",
            "name": "hostile",
            "userInfo": {"username": "mallory", "groups": ["system:authenticated"]},
            "object": self.pod(count),
            "oldObject": None,
        }
        return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})

    def count_for(self, size: int) -> int:
        """How many elements make a review of about this many bytes, or one with as much structure as is decoded."""
        few, more = self.review(64), self.review(1088)
        counts = [int((size - len(few)) / ((len(more) - len(few)) / 1024)) + 64]
        for marks, most in ((b"{[", CONTAINERS), (b":", KEYS)):
            each = sum(more.count(mark) - few.count(mark) for mark in marks) / 1024
            if each:
                counts.append(int(0.97 * most / each))
        return max(1, min(counts))


def container(number: int = 0, **members: Any) -> Json:
    """A container that asks for a replica."""
    return {"name": f"c{number}", "image": "i", "resources": {"limits": {GPU: "1"}}, **members}


def pod(*, metadata: Json | None = None, **spec: Any) -> Json:
    """A pod that asks for a replica, unless its containers are given."""
    named = {"name": "hostile", **(metadata or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": {"containers": [container()], **spec}}


def required(terms: list[Json]) -> Json:
    """Required node affinity."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def each(count: int, element: Callable[[int], Json]) -> list[Json]:
    """A list of this many elements."""
    return [element(number) for number in range(count)]


def inside(**members: Any) -> Json:
    """A pod whose container has these members."""
    return pod(containers=[container(**members)])


def _selector_and_terms(count: int) -> Json:
    terms = each(count // 5 + 1, lambda n: {"matchExpressions": [{"key": f"t{n}", "operator": "Exists"}]})
    return pod(nodeSelector={f"k{n}": "v" for n in range(count)}, affinity=required(terms))


def _values(operator: str) -> Callable[[int], Json]:
    return lambda n: pod(
        affinity=required(
            [{"matchExpressions": [{"key": "a", "operator": operator, "values": [f"v{i}" for i in range(n)]}]}]
        )
    )


def _expressions_on_one_key(count: int) -> Json:
    expressions = each(count, lambda n: {"key": "a", "operator": ("In", "NotIn")[n % 2], "values": [f"v{n}", "w"]})
    return pod(affinity=required([{"matchExpressions": expressions}]))


def _mounts_and_volumes(count: int) -> Json:
    mounts = each(count, lambda n: {"name": f"v{n + count}", "mountPath": f"{PIPE}/{n}"})
    return pod(containers=[container(volumeMounts=mounts)], volumes=each(count, lambda n: {"name": f"v{n}"}))


def _mounts_of_one_long_path(count: int) -> Json:
    mounts = each(count, lambda n: {"name": "v", "mountPath": f"{PIPE}/{n}", "subPath": "a"})
    volume = {"name": "v", "hostPath": {"path": "/run/./" + "x/." * (count * 10)}}
    return pod(containers=[container(volumeMounts=mounts)], volumes=[volume])


def _resources_and_volumes(count: int) -> Json:
    limits = {GPU: "1", "nvidia.com/gpu.shared": "1"}
    containers = each(count, lambda n: {**container(n), "resources": {"limits": limits}})
    return pod(containers=containers, volumes=each(count, lambda n: {"name": f"v{n}"}))


def _long_name_and_resources(count: int) -> Json:
    limits = {f"nvidia.com/mig-{n}": "x" for n in range(count)}
    return pod(containers=[{"name": "n" * (count * 20), "resources": {"limits": limits}}])


def _volumes_named_like_ours(count: int) -> Json:
    ours = "gpushare-mps-nvidia-com-gpu"
    volumes = each(count, lambda n: {"name": ours if n == 0 else f"{ours}-{n + 1}", "emptyDir": {}})
    return pod(volumes=volumes)


def _asking(kind: str, resources: Json) -> Callable[[int], Json]:
    def build(count: int) -> Json:
        made = pod()
        made["spec"][kind] = each(count, lambda number: {**container(number), **resources})
        return made

    return build


def _script(command: str) -> list[str]:
    """Arguments with as much of a script as is read."""
    return ["sh", "-c", ("mpirun;" + command * 16_000)[:16_000]]


SHAPES: dict[str, Shape] = {
    "node selector x affinity terms": Shape(_selector_and_terms),
    "node selector": Shape(lambda n: pod(nodeSelector={f"k{i}": "" for i in range(n)})),
    "affinity terms": Shape(
        lambda n: pod(
            affinity=required(each(n, lambda i: {"matchExpressions": [{"key": f"t{i}", "operator": "Exists"}]}))
        )
    ),
    "empty affinity terms": Shape(lambda n: pod(affinity=required([{}] * n))),
    "values of In": Shape(_values("In")),
    "values of NotIn": Shape(_values("NotIn")),
    "expressions on one key": Shape(_expressions_on_one_key),
    "expressions without members": Shape(
        lambda n: pod(affinity=required([{"matchExpressions": [{}] * n}])), "direct caller"
    ),
    "volume mounts x volumes": Shape(_mounts_and_volumes),
    "volume mounts x path of one volume": Shape(_mounts_of_one_long_path),
    "volume mounts under /dev/shm": Shape(
        lambda n: inside(volumeMounts=each(n, lambda i: {"name": "v", "mountPath": f"/dev/shm/{i}"}))  # noqa: S108
    ),
    "volume mounts with dots": Shape(
        lambda n: inside(volumeMounts=each(n, lambda i: {"name": "v", "mountPath": f"//a/./../{i}/"}))
    ),
    "volumes": Shape(lambda n: pod(volumes=each(n, lambda i: {"name": f"v{i}"}))),
    "volumes named like the injected one": Shape(_volumes_named_like_ours),
    "quantity of digits": Shape(
        lambda n: pod(containers=[{"name": "c", "resources": {"limits": {GPU: "1" * n + "x"}}}]), "direct caller"
    ),
    "quantity of zeros": Shape(
        lambda n: pod(containers=[{"name": "c", "resources": {"limits": {GPU: "0" * n + "." + "0" * n + "1"}}}]),
        "direct caller",
    ),
    "containers with two resources x volumes": Shape(_resources_and_volumes),
    "containers": Shape(_asking("containers", {})),
    "containers that ask for none": Shape(_asking("containers", {"resources": {}})),
    "containers that ask for two": Shape(_asking("containers", {"resources": {"limits": {GPU: "2"}}})),
    "containers that are privileged": Shape(_asking("containers", {"securityContext": {"privileged": True}})),
    "containers that ask for another user": Shape(_asking("containers", {"securityContext": {"runAsUser": 7}})),
    "containers with the pipe variable": Shape(
        _asking("containers", {"env": [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/x"}]})
    ),
    "init containers": Shape(_asking("initContainers", {})),
    "sidecars": Shape(_asking("initContainers", {"restartPolicy": "Always"})),
    "empty containers": Shape(lambda n: pod(containers=[{}] * n), "direct caller"),
    "containers of one resource": Shape(
        lambda n: pod(initContainers=[{"resources": {"limits": {GPU: 1}}}] * n), "direct caller"
    ),
    "long container names": Shape(
        _asking("containers", {"name": "n" * 900, "env": [{"name": "NVIDIA_VISIBLE_DEVICES"}]})
    ),
    "one long container name": Shape(lambda n: pod(containers=[{**container(), "name": "n" * n}])),
    "long name x malformed resources": Shape(_long_name_and_resources, "direct caller"),
    "tolerations": Shape(lambda n: pod(tolerations=each(n, lambda i: {"key": f"k{i}", "operator": "Exists"}))),
    "tolerations of one key": Shape(lambda n: pod(tolerations=each(n, lambda i: {"key": GPU, "value": f"{i}"}))),
    "empty tolerations": Shape(lambda n: pod(tolerations=[{}] * n), "direct caller"),
    "annotations with the product's prefix": Shape(
        lambda n: pod(metadata={"annotations": {f"gpushare-webhook/a{i}": "" for i in range(n)}}), "direct caller"
    ),
    "annotations": Shape(lambda n: pod(metadata={"annotations": {f"a{i}": "" for i in range(n)}}), "direct caller"),
    "one long annotation": Shape(
        lambda n: pod(
            metadata={"annotations": {"gpushare-webhook/pinned-device-memory-limit": ",".join(["0=1G"] * (n // 5 + 1))}}
        )
    ),
    "long safe-to-evict annotation": Shape(
        lambda n: pod(
            metadata={"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "a," * n}}
        )
    ),
    "env entries": Shape(lambda n: inside(env=each(n, lambda i: {"name": f"E{i}"}))),
    "env entries without members": Shape(lambda n: inside(env=[{}] * n), "direct caller"),
    "env entries of the pipe variable": Shape(lambda n: inside(env=[{"name": "CUDA_MPS_PIPE_DIRECTORY"}] * n)),
    "env entries with valueFrom": Shape(
        lambda n: inside(env=each(n, lambda i: {"name": f"E{i}", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}))
    ),
    "long pipe variable": Shape(lambda n: inside(env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/." * n}])),
    "long pipe variable with references": Shape(
        lambda n: inside(env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "$" * n}])
    ),
    "long memory limit": Shape(
        lambda n: inside(env=[{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=1G," * n}])
    ),
    "long thread percentage": Shape(
        lambda n: inside(env=[{"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "9" * n}])
    ),
    "long visible devices": Shape(lambda n: inside(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "0," * n}])),
    "MIG resources": Shape(
        lambda n: pod(containers=[{"name": "c", "resources": {"limits": {f"nvidia.com/mig-{i}": 1 for i in range(n)}}}])
    ),
    "other resources": Shape(
        lambda n: pod(containers=[{"name": "c", "resources": {"limits": {f"a/{i}": 1 for i in range(n)}}}])
    ),
    "misspelled resources": Shape(
        lambda n: pod(
            containers=[
                {"name": "c", "resources": {"limits": {f"nvidia.com/g{chr(0x10000 + i)}u": 1 for i in range(n)}}}
            ]
        ),
        "direct caller",
    ),
    "long runtime class": Shape(lambda n: pod(runtimeClassName="kata" * n), "direct caller"),
    "scheduling gates": Shape(lambda n: pod(schedulingGates=each(n, lambda i: {"name": f"g{i}"}))),
    "arguments": Shape(lambda n: inside(args=["a"] * n)),
    "arguments of launchers": Shape(lambda n: inside(args=["vllm", "serve", *(["-tp=2"] * n)])),
    "containers with launchers": Shape(_asking("containers", {"args": ["-tp", "2"]})),
    "containers with scripts of launchers": Shape(_asking("containers", {"args": _script("vllm serve m -tp 2;")})),
    "containers with scripts of shells": Shape(_asking("containers", {"args": _script("sh -c 'vllm serve -tp 2';")})),
    "containers with scripts of short words": Shape(_asking("containers", {"args": _script("a;")})),
    "containers with scripts of quotes": Shape(_asking("containers", {"args": _script("'a'")})),
    "one long argument": Shape(lambda n: inside(args=["<" * n])),
    "unread objects": Shape(lambda n: inside(x=[{}] * n), "direct caller"),
    "unread objects of one member": Shape(lambda n: inside(x=[{"a": 1}] * n), "direct caller"),
    "unread names": Shape(lambda n: inside(x={f"{i:x}": 1 for i in range(n)}), "direct caller"),
    "unread numbers": Shape(lambda n: inside(x=[0.1] * n), "direct caller"),
    "ephemeral containers": Shape(
        lambda n: pod(
            ephemeralContainers=each(
                n, lambda i: {"name": f"e{i}", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
            )
        ),
        "direct caller",
    ),
    "long name of the pod": Shape(lambda n: pod(metadata={"name": "n" * n}), "direct caller"),
}
"""The shapes, by what they are full of."""
