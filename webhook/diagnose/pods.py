"""A pod in the few fields that show which replicas it holds, and the holders by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.cluster.objects import POD, Object, Objects, all_of
from webhook.cluster.reading import FINISHED, Owner, controller, entries, part, word
from webhook.cluster.stack import readiness
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import MalformedError
from webhook.policy.pods.requests import GpuRequests, Lookup
from webhook.policy.settings.settings import Resource, Settings

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
        return self.phase == "Failed" and self.reason == UNEXPECTED


def live_pod(found: Object, lookup: Lookup) -> LivePod:
    """Read a pod. `lookup` knows GPU resources by their names."""
    name = word(found, "metadata", "name")
    return LivePod(
        word(found, "metadata", "namespace"),
        name,
        controller(found.get("metadata")) or Owner("Pod", name),
        word(found, "spec", "nodeName"),
        word(found, "status", "phase"),
        word(found, "status", "reason"),
        requests_of(found, lookup),
        bool(word(found, "metadata", "deletionTimestamp")),
        _idle(found, lookup) if word(found, "spec", "nodeName") else "",
    )


def _idle(found: Object, lookup: Lookup) -> str:
    if word(found, "status", "phase") == "Pending":
        _, detail = readiness(found)
        return f"not started: {detail}" if detail.startswith("container ") else ""
    done, running = left_over(found, lookup)
    return f"container {done} has ended, and {running} runs on" if running else ""


def left_over(found: Object, lookup: Lookup) -> tuple[str, str]:
    """A container that asked for GPUs and has ended, as the others that did, and one that keeps the pod from its end.

    Both are empty for a pod that restarts its containers, or that still uses what it holds.
    """
    if word(found, "spec", "restartPolicy") not in ("Never", "OnFailure"):
        return "", ""
    states = {word(one, "name"): part(one, "state") for one in entries(found, "status", "containerStatuses")}
    asked = [name for name in asking(found, lookup) if name in states]
    running = next((name for name, state in states.items() if "running" in state), "")
    is_over = running and asked and all("terminated" in states[name] for name in asked)
    return (asked[0], running) if is_over else ("", "")


def requests_of(found: Object, lookup: Lookup) -> dict[str, int]:
    """The GPU requests of a pod in whole units by resource; none for a pod that is malformed."""
    requests = _requests(found, lookup)
    return {} if requests is None else {name: -(-billionths // NANO) for name, billionths in requests.peaks.items()}


def asking(found: Object, lookup: Lookup) -> list[str]:
    """The names of the containers that ask for GPUs; none for a pod that is malformed."""
    requests = _requests(found, lookup)
    return [] if requests is None else [word(one.raw, "name") for one in requests.containers]


def _requests(found: Object, lookup: Lookup) -> GpuRequests | None:
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
    return [pod async for one in found if (pod := live_pod(one, lookup)).requests or pod.was_rejected]


async def reachable(objects: Objects, namespace: str | None, **query: str) -> AsyncIterator[Object]:
    """Yield the pods of all namespaces, or of one where the caller may not list them everywhere."""
    for place in dict.fromkeys((None, namespace)):
        if place is None or objects.lacks(POD):
            async for one in all_of(objects, POD, place, **query):
                yield one


async def reachable_pods(
    objects: Objects, settings: Settings, namespace: str | None, query: Mapping[str, str], names: Collection[str] = ()
) -> list[LivePod]:
    """Read such pods, wherever the caller may list them."""
    return await gpu_pods(reachable(objects, namespace, **query), settings, names)


def extended(name: str) -> Resource | None:
    """What counts every extended resource that pods ask for."""
    return Resource(name) if "/" in name else None


def counting(settings: Settings, names: Collection[str]) -> Lookup:
    """What counts the GPUs that pods ask for, and other extended resources of these names."""
    gpus = GpuResources(settings.resources)
    return lambda name: gpus.find(name) or (Resource(name, "whole") if name in names else None)
