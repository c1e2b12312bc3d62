"""A case: everything the engine looks at to decide about one pod."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from webhook.policy.placement.facts import Facts, RuntimeClass
from webhook.policy.placement.reachability import Injected, Placement, Reachability
from webhook.policy.placement.tolerations import Tolerations, tolerations_of
from webhook.policy.pods.pod import Container, Pod
from webhook.policy.pods.requests import Demand, ResourceRequest
from webhook.policy.verdict import Edit

if TYPE_CHECKING:
    from webhook.policy.rules import Rules

ENFORCE_LABEL = "pod-security.kubernetes.io/enforce"


class Origin:
    """Where a pod comes from.

    `itself`: it is a Pod, not a template. `arrived`: it reached the last hook on CREATE, so the edits should be there
    and steering is over. `released`: an update removed its last scheduling gate; steering is over, and edits are not
    expected, since settings and facts may have changed since CREATE. `added`: the names of the ephemeral containers
    that the request adds, and that alone are checked; None when the whole pod is. `hostpath`: what the hook's path says
    of hostPath volumes, None when it says nothing. `groups`: the caller's, None offline. `open`: the workload is
    suspended and gets its placement later.
    """

    __slots__ = ("added", "arrived", "groups", "hostpath", "itself", "namespace", "open", "released")

    def __init__(
        self,
        namespace: str,
        *,
        itself: bool = True,
        arrived: bool = False,
        released: bool = False,
        added: frozenset[str] | None = None,
        hostpath: bool | None = None,
        groups: tuple[str, ...] | None = None,
        open: bool = False,  # noqa: A002 - the field's own word
    ) -> None:
        self.namespace = namespace
        self.itself = itself
        self.arrived = arrived
        self.released = released
        self.added = added
        self.hostpath = hostpath
        self.groups = groups
        self.open = open


class PodContext:
    """One pod with its origin, the rules of its namespace, and what is known.

    `mps` holds the asks for shared resources with which the pod could land on an MPS node, `first_asks` the first of
    each container. `edits` are filled by the engine.
    """

    __slots__ = (
        "demand",
        "edits",
        "facts",
        "first_asks",
        "mps",
        "origin",
        "our_tolerations",
        "placement",
        "pod",
        "rules",
    )

    def __init__(self, pod: Pod, origin: Origin, rules: Rules, facts: Facts) -> None:
        self.pod = pod
        self.origin = origin
        self.rules = rules
        self.facts = facts
        self.edits: list[Edit] = []
        self.demand = Demand(pod, rules.resource)
        pod.elements("tolerations")  # their structure is checked whether or not something reads them
        self.our_tolerations = rules.tolerations(self.demand)
        self.placement = Placement(
            pod,
            self.demand,
            rules.node_classes,
            rules.nodes,
            Injected(self.our_tolerations, rules.taint_keys),
            nodes_known=facts.nodes is not None,
        )
        self._look_where_mps()

    def steer(self) -> None:
        """Check from now on as if the pod were kept off shared GPUs."""
        self.placement.steer()
        self._look_where_mps()

    def unsteer(self) -> None:
        """Check again as the pod is."""
        self.placement.unsteer()
        self._look_where_mps()

    def tolerations(self) -> Tolerations:
        """The pod's own tolerations."""
        return tolerations_of(self.pod, self.rules.taint_keys)

    def _look_where_mps(self) -> None:
        """Find the asks with which the pod could meet MPS, and the first of each container."""
        lands = self.placement.lands
        self.mps = [
            ask
            for ask in self.demand.asks
            if ask.resource.kind == "shared" and lands(ask.resource) is not Reachability.NO
        ]
        self.first_asks: list[ResourceRequest] = []
        for ask in self.mps:
            if not self.first_asks or self.first_asks[-1].container is not ask.container:
                self.first_asks.append(ask)  # a container's asks follow one another

    def checked_containers(self) -> Iterable[Container]:
        """All containers, ephemeral ones too; where a request only adds ephemeral containers, those."""
        added, ephemeral = self.origin.added, self.pod.ephemeral_containers()
        if added is None:
            return chain(self.pod.containers, ephemeral)
        return (container for container in ephemeral if container.name in added)

    def hostpath_allowed(self) -> bool | None:
        """Whether the namespace's Pod Security level allows hostPath volumes; None when nothing tells.

        Offline an unknown namespace counts as one without the label.
        """
        if self.origin.hostpath is not None:
            return self.origin.hostpath
        labels = self.rules.namespace_labels
        if labels is not None:
            return labels.get(ENFORCE_LABEL, self.rules.settings.pod_security.unlabelled) == "privileged"
        if self.origin.groups is None:
            return self.rules.settings.pod_security.unlabelled == "privileged"
        return None

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """The known RuntimeClass of this name."""
        return self.rules.runtime_classes.get(name)
