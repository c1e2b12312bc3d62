"""What a pod asks for: which container wants how much of which GPU resource, and the sum as the scheduler counts."""

from __future__ import annotations

from collections.abc import Callable

from webhook.policy.pod import APP, INIT, Container, Pod
from webhook.policy.quantity import QuantityError, parse
from webhook.policy.settings import Resource
from webhook.policy.verdict import Path

Lookup = Callable[[str], Resource | None]
"""Tells which GPU resource a name stands for, if any."""


class Ask:
    """More than 0 of one GPU resource, asked for by one container. `billionths` is the quantity."""

    __slots__ = ("billionths", "container", "field", "resource")

    def __init__(self, container: Container, resource: Resource, field: str, billionths: int) -> None:
        self.container = container
        self.resource = resource
        self.field = field
        self.billionths = billionths

    @property
    def path(self) -> Path:
        """Where the quantity stands."""
        return (*self.container.path, "resources", self.field, self.resource.name)


class Demand:
    """All that a pod asks for. `names` holds every GPU resource named, with 0 or nonsense too, by container."""

    __slots__ = ("asks", "has_mig", "has_renamed", "names", "pod")

    def __init__(self, pod: Pod, lookup: Lookup) -> None:
        self.pod = pod
        self.asks: list[Ask] = []
        self.has_mig = self.has_renamed = False
        self.names: list[tuple[Container, Resource]] = []
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
        self.names.append((container, resource))
        try:
            billionths = parse(value)
        except QuantityError:
            return  # GPS003 tells
        if billionths > 0:
            self.has_mig = self.has_mig or resource.kind == "mig"
            self.has_renamed = self.has_renamed or resource.renamed
            self.asks.append(Ask(container, resource, field, billionths))

    def total(self, wanted: Callable[[Container], int]) -> int:
        """The pod's sum of what `wanted` says of each container, counted as the scheduler does.

        Init containers run one after another beside the sidecars started before them; app containers run beside
        all sidecars (k8s.io/component-helpers resource/helpers.go, KEP-753).
        """
        sidecars = highest = apps = 0
        for container in self.pod.containers:
            amount = wanted(container)
            if container.kind is APP:
                apps += amount
            elif container.kind is INIT:
                highest = max(highest, sidecars + amount)
            else:
                sidecars += amount
                highest = max(highest, sidecars)
        return max(highest, sidecars + apps)

    def of(self, name: str) -> int:
        """The pod's demand for one resource, in billionths."""
        amounts = {id(ask.container): ask.billionths for ask in self.asks if ask.resource.name == name}
        return self.total(lambda container: amounts.get(id(container), 0))
