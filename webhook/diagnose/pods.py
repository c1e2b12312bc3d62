"""A pod in the few fields that show which replicas it holds, and the holders by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from webhook.cluster.objects import POD, Object, Objects
from webhook.cluster.reading import FINISHED, Owner, controller, part, word
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO, parse_or_zero
from webhook.policy.pods.reading import MalformedError
from webhook.policy.pods.requests import peak
from webhook.policy.settings.settings import Settings

UNFINISHED = ",".join(f"status.phase!={phase}" for phase in FINISHED)
"""The field selector of the other pods."""

UNEXPECTED = "UnexpectedAdmissionError"
"""The reason of a pod that the kubelet or a device plugin rejected (kubernetes pkg/kubelet/lifecycle/predicate.go)."""


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod of a cluster. `requests` holds whole units by resource, counted as the scheduler counts them.

    `is_ending`: it is being deleted, and holds its requests until it has ended.
    """

    namespace: str
    name: str
    owner: Owner
    node: str
    phase: str
    reason: str
    requests: Mapping[str, int]
    is_ending: bool = False

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


Wanted: TypeAlias = Callable[[str], object]
"""Whether the resource of a name counts."""


def live_pod(found: Object, wanted: Wanted) -> LivePod:
    """Read a pod."""
    name = word(found, "metadata", "name")
    return LivePod(
        word(found, "metadata", "namespace"),
        name,
        controller(found.get("metadata")) or Owner("Pod", name),
        word(found, "spec", "nodeName"),
        word(found, "status", "phase"),
        word(found, "status", "reason"),
        requests_of(found, wanted),
        bool(word(found, "metadata", "deletionTimestamp")),
    )


def requests_of(found: Object, wanted: Wanted) -> dict[str, int]:
    """The requests of a pod in whole units by resource; none for a pod that is malformed."""
    return {name: -(-billionths // NANO) for name, billionths in exact_requests(found, wanted).items()}


def exact_requests(found: Object, wanted: Wanted) -> dict[str, int]:
    """The requests of a pod in billionths by resource; none for a pod that is malformed."""
    try:
        pod = Pod.of_template(found)
        asked = [
            (one.kind, {name: parse_or_zero(value) for name, value in amounts.items() if wanted(name)})
            for one in pod.containers
            for amounts in [{**one.limits, **one.requests} if one.requests else one.limits]
        ]
        return {name: billionths for name, billionths in peaks(pod, "requests", asked).items() if wanted(name)}
    except MalformedError:
        return {}


def peaks(pod: Pod, field: str, asked: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, int]:
    """The limits or requests of a pod in billionths by resource, as the scheduler and quotas count them.

    `asked` has the kind and the amounts of each container, in their order. An amount of the pod as a whole stands for
    those of its containers, and the overhead comes on top (k8s.io/component-helpers resource/helpers.go, KEP-2837).
    Raises MalformedError.
    """
    amounts: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for kind, values in asked:
        for name, billionths in values.items():
            amounts[name].append((kind, billionths))
    found = {name: peak(own) for name, own in amounts.items()}
    if pod.spec.get("resources"):
        whole = pod.members("resources")
        stated = {name: value for name, value in part(whole, "limits").items() if name not in found}
        stated |= part(whole, field)
        found |= {name: parse_or_zero(value) for name, value in stated.items() if "/" not in name}
    if pod.spec.get("overhead"):
        for name, value in pod.members("overhead").items():
            found[name] = found.get(name, 0) + parse_or_zero(value)
    return {name: billionths for name, billionths in found.items() if billionths > 0}


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
    objects: Objects, settings: Settings, namespace: str | None, query: Mapping[str, str], names: Collection[str] = ()
) -> list[LivePod]:
    """Read pods that ask for a GPU or for a resource of these names, or were rejected for one, page by page."""
    lookup = counting(settings, names)
    found = []
    async for page in objects.pages(POD, namespace, query):
        found += [one for one in (live_pod(each, lookup) for each in page) if one.requests or one.was_rejected]
    return found


async def reachable_pods(
    objects: Objects, settings: Settings, namespace: str | None, query: Mapping[str, str], names: Collection[str] = ()
) -> list[LivePod]:
    """Read such pods of all namespaces, or of one where the caller may not list them everywhere."""
    found = await gpu_pods(objects, settings, None, query, names)
    if namespace is not None and objects.lacks(POD):
        return await gpu_pods(objects, settings, namespace, query, names)
    return found


def extended(name: str) -> bool:
    """Whether a resource is an extended one."""
    return "/" in name


def counting(settings: Settings, names: Collection[str]) -> Wanted:
    """What counts the GPUs that pods ask for, and other extended resources of these names."""
    gpus = GpuResources(settings.resources)
    return lambda name: name in gpus or name in names
