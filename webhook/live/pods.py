"""A pod in the few fields that show which replicas it holds, and the holders by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.cluster.objects import POD, Object, Objects
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.reading import MalformedError
from webhook.policy.pods.requests import GpuRequests, Lookup
from webhook.policy.settings.settings import Settings

FINISHED = ("Succeeded", "Failed")
"""The phases of pods that hold nothing (kubernetes pkg/scheduler/eventhandlers.go `assignedPod`, podutil)."""

UNEXPECTED = "UnexpectedAdmissionError"
"""The reason of a pod that the kubelet or a device plugin rejected (kubernetes pkg/kubelet/lifecycle/predicate.go)."""


class Owner(NamedTuple):
    """The object that a pod belongs to; the pod itself if nothing controls it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod of a cluster. `requests` holds whole units by resource, counted as the scheduler counts them."""

    namespace: str
    name: str
    owner: Owner
    node: str
    phase: str
    reason: str
    requests: Mapping[str, int]

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
    metadata, spec, status = (found.get(part) or {} for part in ("metadata", "spec", "status"))
    name = _text(metadata, "name")
    return LivePod(
        _text(metadata, "namespace"),
        name,
        controller(metadata) or Owner("Pod", name),
        _text(spec, "nodeName"),
        _text(status, "phase"),
        _text(status, "reason"),
        requests_of(found, lookup),
    )


def requests_of(found: Object, lookup: Lookup) -> dict[str, int]:
    """The GPU requests of a pod in whole units by resource; none for a pod that is malformed."""
    try:
        peaks = GpuRequests(Pod.of_template(found), lookup).peaks
    except MalformedError:
        return {}
    return {name: -(-billionths // NANO) for name, billionths in peaks.items()}


def controller(metadata: Object) -> Owner | None:
    """The owner that controls an object; None without one."""
    reference = controlling(metadata)
    return None if reference is None else Owner(_text(reference, "kind"), _text(reference, "name"))


def controlling(metadata: Mapping[str, object]) -> Object | None:
    """The reference to the owner that controls an object; None without one."""
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():  # a file may hold anything
        if isinstance(reference, dict) and reference.get("controller"):
            return reference
    return None


def _text(found: object, key: str) -> str:
    """The text of a field; empty where it has another type."""
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


class Holding(NamedTuple):
    """Replicas of a resource that a pod holds on its node."""

    pod: LivePod
    resource: str
    amount: int


def holdings(pods: Iterable[LivePod]) -> Iterator[Holding]:
    """What bound and unfinished pods hold."""
    for pod in pods:
        if pod.holds:
            for resource, amount in pod.requests.items():
                yield Holding(pod, resource, amount)


def held_by_node(pods: Iterable[LivePod]) -> dict[tuple[str, str], list[Holding]]:
    """The holdings by node and resource, the largest first, then by name."""
    found: dict[tuple[str, str], list[Holding]] = defaultdict(list)
    for one in holdings(pods):
        found[one.pod.node, one.resource].append(one)
    for each in found.values():
        each.sort(key=lambda one: (-one.amount, one.pod.namespace, one.pod.name))
    return found


async def gpu_pods(
    objects: Objects, settings: Settings, namespace: str | None, query: Mapping[str, str]
) -> list[LivePod]:
    """Read pods that ask for a GPU, or were rejected for one, page by page."""
    lookup = GpuResources(settings.resources).find
    found = []
    async for page in objects.pages(POD, namespace, query):
        found += [one for one in (live_pod(each, lookup) for each in page) if one.requests or one.was_rejected]
    return found


async def reachable_pods(
    objects: Objects, settings: Settings, namespace: str | None, query: Mapping[str, str]
) -> list[LivePod]:
    """Read such pods of all namespaces, or of one where the caller may not list them everywhere."""
    found = await gpu_pods(objects, settings, None, query)
    if namespace is not None and objects.lacks(POD):
        return await gpu_pods(objects, settings, namespace, query)
    return found
