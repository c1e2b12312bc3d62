"""Pods in the few fields that show which replicas they hold, the holders by node, and the topmost owners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypedDict

import msgspec

from webhook.cluster.objects import JOB, POD, REPLICA_SET, Kind, Object, Objects, Shape, all_of
from webhook.cluster.reading import FINISHED, Owner, controller, entries, number, part, word
from webhook.cluster.stack import readiness
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import MalformedError
from webhook.policy.pods.requests import GpuRequests, Lookup
from webhook.policy.settings.settings import Resource, Settings

# The fields that questions read of the objects of long lists: a tenth of the time that a whole object takes. A field
# that a reader of such a list newly reads belongs here; tests ask each question of live and of saved objects.


def _shape(names: str, **parts: Any) -> Any:
    """The type of an object with these fields, of any type, and these parts. Each may be absent."""
    return TypedDict("_Shape", {**dict.fromkeys(names.split(), Any), **parts}, total=False)  # type: ignore[operator]


_METADATA: Final = _shape(  # without managed fields
    "name generateName namespace labels annotations ownerReferences deletionTimestamp"
)
_STATUS: Final = _shape("phase reason message conditions initContainerStatuses containerStatuses replicas")
_CONTAINERS: Any = list[_shape("name image command resources restartPolicy")] | None  # type: ignore[misc]
_HOLDING_SPEC: Final = _shape(
    "nodeName restartPolicy runtimeClassName overhead resources",
    initContainers=_CONTAINERS,
    containers=_CONTAINERS,
    volumes=list[_shape("hostPath")] | None,  # type: ignore[misc]
)

OWNED: Final[Shape] = msgspec.json.Decoder(_shape("", metadata=_METADATA))
"""Of an object between a pod and its topmost owner: its metadata."""

HOLDING: Final[Shape] = msgspec.json.Decoder(_shape("", metadata=_METADATA, spec=_HOLDING_SPEC, status=_STATUS))
"""Of a pod: its owner, its state, what it requests, and the program of the GPU stack that it runs."""

CHECKED: Final[Shape] = msgspec.json.Decoder(_shape("spec template", metadata=_METADATA, status=_STATUS))
"""Of a pod or a built-in workload: its state, and all that checks read."""

NODE_SHAPE: Final[Shape] = msgspec.json.Decoder(
    _shape("spec", metadata=_METADATA, status=_shape("capacity allocatable nodeInfo"))
)
"""Of a node: its labels, taints and amounts, and the names of its system."""


UNFINISHED = ",".join(f"status.phase!={phase}" for phase in FINISHED)
"""The field selector of the other pods."""

UNEXPECTED = "UnexpectedAdmissionError"
"""The reason of a pod that the kubelet or a device plugin rejected (kubernetes pkg/kubelet/lifecycle/predicate.go)."""


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod of a cluster. `requests` holds whole units by resource, counted as the scheduler counts them.

    `is_ending`: it is being deleted, and holds its requests until it has ended. `idle` says why it does not use what it
    holds, and will not; empty if it may.
    """

    namespace: str
    name: str
    owner: Owner
    node: str
    phase: str
    reason: str
    requests: Mapping[str, int]
    is_ending: bool = False
    idle: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def holds(self) -> bool:
        """Whether the pod is bound and not finished, so that its requests count on its node."""
        return bool(self.node) and self.phase not in FINISHED

    @property
    def was_rejected(self) -> bool:
        """Whether the kubelet rejected the pod because of a device plugin."""
        return (self.phase, self.reason) == _REJECTED


_REJECTED: Final = ("Failed", UNEXPECTED)


def was_rejected(found: Object) -> bool:
    """Whether the kubelet rejected a pod because of a device plugin."""
    return (word(found, "status", "phase"), word(found, "status", "reason")) == _REJECTED


def live_pod(found: Object, lookup: Lookup) -> LivePod:
    """Read a pod. `lookup` knows GPU resources by their names."""
    name, requests = word(found, "metadata", "name"), requests_by_container(found, lookup)
    node, phase = word(found, "spec", "nodeName"), word(found, "status", "phase")
    return LivePod(
        word(found, "metadata", "namespace"),
        name,
        controller(found.get("metadata")) or Owner("Pod", name),
        node,
        phase,
        word(found, "status", "reason"),
        _whole(requests),
        bool(word(found, "metadata", "deletionTimestamp")),
        _idle(found, phase, requests) if node else "",
    )


def _idle(found: Object, phase: str, requests: GpuRequests | None) -> str:
    if phase == "Pending":
        _, detail = readiness(found)
        return f"not started: {detail}" if detail.startswith("container ") else ""
    done, running = left_over(found, requests)
    return f"container {done} has ended, and {running} runs on" if running else ""


def left_over(found: Object, requests: GpuRequests | None) -> tuple[str, str]:
    """A container that asked for GPUs and has ended, as the others that did, and one that keeps the pod from its end.

    Both are empty for a pod that restarts such a container, is being deleted, or still uses what it holds.
    """
    statuses = entries(found, "status", "containerStatuses")
    if len(statuses) < 2:
        return "", ""
    policy = word(found, "spec", "restartPolicy")
    if policy not in _ENDING or word(found, "metadata", "deletionTimestamp"):
        return "", ""
    states = {word(one, "name"): part(one, "state") for one in statuses}
    running = next((name for name, state in states.items() if "running" in state), "")
    asked = [name for name in _names(requests) if name in states]
    is_over = (
        running
        and asked
        and all(
            "terminated" in state and (policy == "Never" or number(state, "terminated", "exitCode", default=-1) == 0)
            for state in map(states.__getitem__, asked)
        )
    )
    return (asked[0], running) if is_over else ("", "")


_ENDING: Final = ("Never", "OnFailure")
"""The policies under which containers end for good."""


def requests_of(found: Object, lookup: Lookup) -> dict[str, int]:
    """The GPU requests of a pod in whole units by resource; none for a pod that is malformed."""
    return _whole(requests_by_container(found, lookup))


def _whole(requests: GpuRequests | None) -> dict[str, int]:
    return {} if requests is None else {name: -(-billionths // NANO) for name, billionths in requests.peaks.items()}


def asking(found: Object, lookup: Lookup) -> list[str]:
    """The names of the containers that ask for GPUs; none for a pod that is malformed."""
    return _names(requests_by_container(found, lookup))


def _names(requests: GpuRequests | None) -> list[str]:
    return [] if requests is None else [word(one.raw, "name") for one in requests.containers]


def requests_by_container(found: Object, lookup: Lookup) -> GpuRequests | None:
    """The GPU requests of each container; None for a pod that is malformed."""
    try:
        return GpuRequests(Pod.of_template(found), lookup)
    except MalformedError:
        return None


class Holding(NamedTuple):
    """Replicas of a resource that a pod holds on its node."""

    pod: LivePod
    resource: str
    amount: int


def held_by(pods: Iterable[LivePod], of: Callable[[LivePod], str]) -> dict[tuple[str, str], list[Holding]]:
    """What bound and unfinished pods hold, by what `of` names and by resource; the largest first, then by name."""
    found: dict[tuple[str, str], list[Holding]] = defaultdict(list)
    for pod in pods:
        for resource, amount in pod.requests.items() if pod.holds else ():
            found[of(pod), resource].append(Holding(pod, resource, amount))
    for each in found.values():
        each.sort(key=lambda one: (-one.amount, str(one.pod)))
    return found


def held_by_node(pods: Iterable[LivePod]) -> dict[tuple[str, str], list[Holding]]:
    """What pods hold by node and resource."""
    return held_by(pods, lambda pod: pod.node)


async def gpu_pods(found: AsyncIterator[Object], settings: Settings, names: Collection[str] = ()) -> list[LivePod]:
    """The pods that ask for a GPU or for a resource of these names, or were rejected for one."""
    lookup = counting(settings, names)
    return [live_pod(one, lookup) async for one in found if requests_of(one, lookup) or was_rejected(one)]


async def reachable(objects: Objects, namespace: str | None, **query: str) -> AsyncIterator[Object]:
    """Yield the pods of all namespaces, or of one where not all can be listed. Each comes once.

    The list of all may break off after some of its pages.
    """
    listed = set()
    async for one in all_of(objects, POD, None, HOLDING, **query):
        if word(one, "metadata", "namespace") == namespace:
            listed.add(word(one, "metadata", "name"))
        yield one
    if namespace is not None and objects.lacks(POD):
        async for one in all_of(objects, POD, namespace, HOLDING, **query):
            if word(one, "metadata", "name") not in listed:
                yield one


async def reachable_pods(
    objects: Objects, settings: Settings, namespace: str | None, query: Mapping[str, str], names: Collection[str] = ()
) -> list[LivePod]:
    """Read such pods, wherever the caller may list them."""
    return await gpu_pods(reachable(objects, namespace, **query), settings, names)


def extended(name: str) -> Resource | None:
    """What counts every extended resource that pods ask for."""
    return Resource(name) if "/" in name else None


def counting(settings: Settings, names: Collection[str] = ()) -> Lookup:
    """What counts the GPUs that pods ask for, and other extended resources of these names."""
    gpus = GpuResources(settings.resources)
    return lambda name: gpus.find(name) or (Resource(name, "whole") if name in names else None)


_BETWEEN: Mapping[str, Kind] = {"ReplicaSet": REPLICA_SET, "Job": JOB}
"""The kinds that another object may control, and which the API server lists without a definition of their own."""


class Owners:
    """The controllers of ReplicaSets and Jobs, by namespace and name: from a pod to its topmost owner."""

    def __init__(self, above: Mapping[tuple[str, Owner], Owner]) -> None:
        self._above = above

    @classmethod
    async def read(cls, objects: Objects, namespace: str | None) -> Owners:
        """Read the controllers, page by page. Where they cannot be read, a pod's own controller is the topmost."""
        above = {}
        for name, kind in _BETWEEN.items():
            async for one in all_of(objects, kind, namespace, OWNED):
                metadata = one["metadata"]
                if (owner := controller(metadata)) is not None:
                    above[metadata.get("namespace", ""), Owner(name, metadata["name"])] = owner
        return cls(above)

    def top(self, pod: LivePod) -> Owner:
        """The topmost known owner of a pod."""
        return self.above(pod.namespace, pod.owner)

    def above(self, namespace: str, owner: Owner) -> Owner:
        """What controls an owner of pods; itself if nothing does, or that is not known."""
        return self._above.get((namespace, owner), owner)
