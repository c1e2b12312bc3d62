"""GPU requests of a pod: the amount per container and resource, and the sum as the scheduler counts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from webhook.policy.pods.pod import APP, INIT, Container, Pod
from webhook.policy.pods.quantity import NANO, QuantityError, parse
from webhook.policy.pods.reading import members
from webhook.policy.settings.settings import Resource
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.settings.elements import AnnotationRequest


Lookup = Callable[[str], Resource | None]
"""Returns the GPU resource that a name stands for, or None."""


class ResourceRequest:
    """The amount of one GPU resource that one container requests. `billionths` is the quantity.

    `field` is where the amount stands: `limits`, or `requests` for a name that has no limit. `annotation`: the path to
    the annotation of the pod that asks for one replica, instead of the container.
    """

    __slots__ = ("annotation", "billionths", "container", "field", "resource")

    def __init__(
        self, container: Container, resource: Resource, field: str, billionths: int, annotation: Path | None = None
    ) -> None:
        self.container = container
        self.resource = resource
        self.field = field
        self.billionths = billionths
        self.annotation = annotation

    @property
    def path(self) -> Path:
        return self.annotation or self.container.amount_path(self.field, self.resource.name)

    @property
    def name_path(self) -> Path:
        """The path to where the name of the resource stands."""
        return self.annotation or self.container.name_path(self.field, self.resource.name)


class PeakRequest:
    """The highest amount in use at any time, as the scheduler counts it. Add the containers in their order.

    Init containers run one after another, next to the sidecars that were started before them; app containers run next
    to all sidecars (k8s.io/component-helpers resource/helpers.go, KEP-753).
    """

    __slots__ = ("_apps", "_highest", "_sidecars")

    def __init__(self) -> None:
        self._apps = self._highest = self._sidecars = 0

    def add(self, kind: str, amount: int) -> None:
        """Add the amount of the next container, of a kind from `webhook.policy.pods.pod`."""
        if kind is APP:
            self._apps += amount
        elif kind is INIT:
            self._highest = max(self._highest, self._sidecars + amount)
        else:
            self._sidecars += amount

    @property
    def total(self) -> int:
        """The highest amount so far, in the unit of the added ones."""
        return max(self._highest, self._sidecars + self._apps)


def _of_pod(pod: Pod, lookup: Lookup) -> list[tuple[str, str]]:
    """The fields and names of GPU resources in `spec.resources`. Raises MalformedError."""
    resources, path = pod.members("resources"), pod.path_of("resources")
    return [
        (field, name)
        for field in ("limits", "requests")
        for name in members(resources, field, path)
        if "/" in name and lookup(name) is not None
    ]


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
        self.of_pod: Sequence[tuple[str, str]] = _of_pod(pod, lookup) if pod.spec.get("resources") else ()
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
        requests a GPU itself. Raises MalformedError.
        """
        held = self.pod.annotations
        asked = next((one for one in annotations if one.annotation in held), None)
        if asked is None:
            return
        container = self.pod.container(held.get(asked.container) if asked.container is not None else None)
        if container is None or any(request.container.path == container.path for request in self.positive):
            return
        self.annotated = container
        path = (*self.pod.metadata_path, "annotations", asked.annotation)
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
            peaks: dict[str, PeakRequest] = {}
            for request in self.positive:
                peaks.setdefault(request.resource.name, PeakRequest()).add(request.container.kind, request.billionths)
            self._peaks = {name: peak.total for name, peak in peaks.items()}
        return self._peaks
