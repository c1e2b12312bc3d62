"""GPU requests of a pod: the amount per container and resource, and the sum as the scheduler counts it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from webhook.policy.pods.pod import APP, INIT, Container, Pod
from webhook.policy.pods.quantity import NANO, QuantityError, parse, parse_or_zero
from webhook.policy.pods.reading import members
from webhook.policy.settings.settings import Resource
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.settings.elements import AnnotationRequest

Lookup = Callable[[str], Resource | None]
"""Returns the GPU resource that a name stands for, or None."""


@dataclass(slots=True, eq=False)
class ResourceRequest:
    """The amount of one GPU resource that one container requests. `billionths` is the quantity.

    `field` is where the amount stands: `limits`, or `requests` for a name that has no limit. `annotation`: the path to
    the annotation of the pod that asks for one replica, instead of the container.
    """

    container: Container
    resource: Resource
    field: str
    billionths: int
    annotation: Path | None = None

    @property
    def path(self) -> Path:
        return self.annotation or self.container.amount_path(self.field, self.resource.name)

    @property
    def name_path(self) -> Path:
        """The path to where the name of the resource stands."""
        return self.annotation or self.container.name_path(self.field, self.resource.name)


def peak(amounts: Iterable[tuple[str, int]]) -> int:
    """The highest amount in use at any time, as the scheduler counts it.

    The amounts are those of containers in their order, each with the container's kind. Init containers run one after
    another, next to the sidecars that were started before them; app containers run next to all sidecars
    (k8s.io/component-helpers resource/helpers.go, KEP-753).
    """
    apps = highest = sidecars = 0
    for kind, amount in amounts:
        if kind is APP:
            apps += amount
        elif kind is INIT:
            highest = max(highest, sidecars + amount)
        else:
            sidecars += amount
    return max(highest, sidecars + apps)


class GpuRequests:
    """All GPU requests of a pod, in the order of its containers.

    `named` holds every GPU resource that a container names; an amount that is malformed counts as 0. `positive` holds
    those above 0. The requests of a container are adjacent. `annotated` is the container that gets a share by an
    annotation. `of_pod` holds the fields and names of GPU resources among those of the pod as a whole, where they are
    illegal and ask for nothing.
    """

    __slots__ = ("_peaks", "annotated", "has_mig", "has_renamed", "named", "of_pod", "pod", "positive")

    def __init__(self, pod: Pod, lookup: Lookup) -> None:
        self.pod = pod
        self.positive: list[ResourceRequest] = []
        self.annotated: Container | None = None
        self.has_mig = self.has_renamed = False
        self.named: list[ResourceRequest] = []
        self._peaks: dict[str, int] | None = None
        self.of_pod: Sequence[tuple[str, str]] = ()
        if pod.spec.get("resources"):
            self.of_pod = [
                (field, name)
                for field in ("limits", "requests")
                for name in members(pod.members("resources"), field, pod.path_of("resources"))
                if "/" in name and lookup(name) is not None
            ]
        for container in pod.containers:
            limits, requests = container.limits, container.requests
            for name in limits:
                if "/" in name and (resource := lookup(name)) is not None:
                    self._add(container, resource, "limits", limits[name])
            if requests != limits:
                for name in requests:
                    if "/" in name and name not in limits and (resource := lookup(name)) is not None:
                        self._add(container, resource, "requests", requests[name])

    def _add(self, container: Container, resource: Resource, field: str, value: object) -> None:
        try:
            billionths = parse(value)
        except QuantityError:
            billionths = 0  # GPS003 reports it
        request = ResourceRequest(container, resource, field, billionths)
        self.named.append(request)
        if billionths > 0:
            self.has_mig = self.has_mig or resource.kind == "mig"
            self.has_renamed = self.has_renamed or resource.renamed
            self.positive.append(request)

    def add_annotated(self, annotations: Iterable[AnnotationRequest], resource: Resource) -> None:
        """Count the first of these annotations that the pod has as one replica of a resource.

        The container that gets it is the one that another annotation names, else the first one. It gets none if it
        requests a GPU itself. Of whole cards, the annotations of KAI's operator give a part, with the container in the
        key. Raises MalformedError.
        """
        own = self.pod.annotations
        present = ((one.annotation, own.get(one.container or "")) for one in annotations if one.annotation in own)
        held = parts(own) if resource.kind == "whole" else ()
        key, name = next(
            chain(((each[0], each[1]) for each in held if each[2] in (REQUEST, LIMIT)), present), (None, None)
        )
        if key is None:
            return
        container = self.pod.container(name)
        if container is None or any(request.container.path == container.path for request in self.positive):
            return
        self.annotated = container
        path = (*self.pod.metadata_path, "annotations", key)
        self.positive.append(ResourceRequest(container, resource, "", NANO, path))
        places = {each.path: place for place, each in enumerate(self.pod.every_container())}
        self.positive.sort(key=lambda request: places[request.container.path])
        self.has_renamed = self.has_renamed or resource.renamed

    @property
    def containers(self) -> Iterator[Container]:
        """The containers that request a GPU, in their order."""
        return (container for container, _ in groupby(self.positive, attrgetter("container")))

    @property
    def peaks(self) -> Mapping[str, int]:
        """The pod's peak request of each resource that it requests, in billionths."""
        if self._peaks is None:
            amounts: dict[str, list[tuple[str, int]]] = {}
            for request in self.positive:
                amounts.setdefault(request.resource.name, []).append((request.container.kind, request.billionths))
            self._peaks = {name: peak(own) for name, own in amounts.items()}
        return self._peaks


# The annotations of KAI's GPU fractioning operator, by which one container of a pod gets a part of a card's memory:
# kai-scheduler/api utilities/resources/gpu_sharing_nvfractions.go, and kai-scheduler/kai-gpu-fractioning
# fractioning-manager/fractiond/internal/annotations/annotations.go.

FRACTIONS: Final = "nvidia.com/container."
_KEY = re.compile(
    r"nvidia\.com/container\.(.*)\.(gpu-memory\.request|gpu-memory\.limit|gpu-compute\.mode|gpus\.devices)", re.DOTALL
)
REQUEST: Final = "gpu-memory.request"
LIMIT: Final = "gpu-memory.limit"
MODE: Final = "gpu-compute.mode"
_MEBIBYTE: Final = 2**20 * NANO
"""A mebibyte in billionths of a byte."""


def parts(annotations: Mapping[str, object]) -> list[tuple[str, str, str]]:
    """The key of each annotation of the operator, and the container and the setting in it: empty if it is unknown."""
    matches = ((key, _KEY.fullmatch(key)) for key in annotations if key.startswith(FRACTIONS))
    return [(key, match[1], match[2]) if match else (key, "", "") for key, match in matches]


def fraction_memory(value: object) -> int:
    """An amount of memory in billionths of a byte; 0 for text that is none, and below 1Mi, which no container gets."""
    amount = parse_or_zero(value) if isinstance(value, str) and value == value.strip() else 0
    return amount if amount >= _MEBIBYTE else 0


def share(annotations: Mapping[str, object]) -> float:
    """The limit of the container with a share in MiB, by default its request; 0 without a valid one."""
    given = {setting: annotations[key] for key, _, setting in parts(annotations)}
    return fraction_memory(given.get(LIMIT, given.get(REQUEST))) / _MEBIBYTE
