"""What a pod asks for: which container wants how much of which GPU resource, and the sum as the scheduler counts."""

from __future__ import annotations

from collections.abc import Callable

from webhook.policy.pods.pod import APP, INIT, Container, Pod
from webhook.policy.pods.quantity import QuantityError, parse
from webhook.policy.settings.settings import Resource
from webhook.policy.verdict import Path

Lookup = Callable[[str], Resource | None]
"""Tells which GPU resource a name stands for, if any."""


class ResourceRequest:
    """An amount of one GPU resource that one container names. `billionths` is the quantity."""

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


class Tally:
    """The most that runs at once, counted as the scheduler does while containers are added in their order.

    Init containers run one after another beside the sidecars started before them; app containers run beside all
    sidecars (k8s.io/component-helpers resource/helpers.go, KEP-753).
    """

    __slots__ = ("_apps", "_highest", "_sidecars")

    def __init__(self) -> None:
        self._apps = self._highest = self._sidecars = 0

    def add(self, kind: str, amount: int) -> None:
        """Count what the next container wants."""
        if kind is APP:
            self._apps += amount
        elif kind is INIT:
            self._highest = max(self._highest, self._sidecars + amount)
        else:
            self._sidecars += amount

    @property
    def total(self) -> int:
        """The most at once."""
        return max(self._highest, self._sidecars + self._apps)


class Demand:
    """All that a pod asks for. `names` holds every GPU resource named, with 0 or nonsense too; those count as 0."""

    __slots__ = ("_totals", "asks", "has_mig", "has_renamed", "names", "pod")

    def __init__(self, pod: Pod, lookup: Lookup) -> None:
        self.pod = pod
        self.asks: list[ResourceRequest] = []
        self.has_mig = self.has_renamed = False
        self.names: list[ResourceRequest] = []
        self._totals: dict[str, Tally] | None = None
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
        named = ResourceRequest(container, resource, field, billionths)
        self.names.append(named)
        if billionths > 0:
            self.has_mig = self.has_mig or resource.kind == "mig"
            self.has_renamed = self.has_renamed or resource.renamed
            self.asks.append(named)

    def of(self, name: str) -> int:
        """The pod's demand for one resource, in billionths."""
        if self._totals is None:
            self._totals = {}
            for ask in self.asks:
                self._totals.setdefault(ask.resource.name, Tally()).add(ask.container.kind, ask.billionths)
        tally = self._totals.get(name)
        return 0 if tally is None else tally.total
