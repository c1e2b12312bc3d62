"""Whether a pod could land on nodes that share their cards: yes, no or unknown, per resource. Unknown counts as yes.

Known nodes that could take the pod decide. Without them its labels do, through node selector and required affinity: an
absent node never relaxes a rejection.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from enum import Enum
from typing import NamedTuple

from webhook.policy.placement.node_classes import NodeClasses, SharingClass
from webhook.policy.placement.node_index import NodeIndex, Nodes
from webhook.policy.placement.selector import Requirement, requirement
from webhook.policy.placement.tolerations import Tolerations, tolerations_of
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import Resource

_SCHEDULED = frozenset({"NoSchedule", "NoExecute"})
_BOUND = frozenset({"NoExecute"})


class Reachability(Enum):
    """Whether a pod could land on a class of nodes for a resource."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


class Injected(NamedTuple):
    """The tolerations to inject, and the keys of all taints that matter."""

    tolerations: Sequence[dict[str, str]]
    keys: Container[str]


class Placement:
    """Which nodes could take a pod. `index`: known nodes and node groups; with `nodes_known` all of the cluster's."""

    __slots__ = (
        "_admitted",
        "_candidates",
        "_mps",
        "_time_sliced",
        "index",
        "injected",
        "node_classes",
        "nodes_known",
        "pod",
        "requests",
        "requirement",
        "steered",
    )

    def __init__(
        self,
        pod: Pod,
        requests: GpuRequests,
        node_classes: NodeClasses,
        index: NodeIndex,
        injected: Injected,
        *,
        nodes_known: bool,
    ) -> None:
        self.pod = pod
        self.requests = requests
        self.node_classes = node_classes
        self.index = index
        self.injected = injected
        self.nodes_known = nodes_known
        self.steered = False
        self.requirement: Requirement | None = requirement(pod)
        self._mps: dict[str, Reachability] = {}
        self._time_sliced: dict[str, Reachability] = {}
        self._admitted: Nodes | None = None
        self._candidates: dict[str, Nodes] = {}

    def steer(self) -> None:
        """From now on, decide as if the pod were kept off shared GPUs."""
        self.steered = True

    def unsteer(self) -> None:
        """Decide for the pod as it is again."""
        self.steered = False

    def lands(self, resource: Resource) -> Reachability:
        """Whether the pod could land on an MPS node for this resource."""
        if self.steered or self.requests.has_mig:
            return Reachability.NO  # the plugin rejects MIG together with MPS
        known = self._mps.get(resource.name)
        if known is None:
            known = self._mps[resource.name] = self._decide(resource, self.node_classes.mps, self.index.mps)
        return known

    def lands_time_sliced(self, resource: Resource) -> Reachability:
        """Whether the pod could land on a time-slicing node for this resource."""
        if self.steered or not self.node_classes.time_slicing.labels:
            return Reachability.NO
        known = self._time_sliced.get(resource.name)
        if known is None:
            known = self._time_sliced[resource.name] = self._decide(
                resource, self.node_classes.time_slicing, self.index.time_sliced
            )
        return known

    def _decide(self, resource: Resource, sharing: SharingClass, members: Nodes) -> Reachability:
        candidates = self.candidates(resource) if self.index.all else 0
        sharing_candidates = candidates & members
        # Nodes need not satisfy an affinity that was not analysed in full; then those of other classes prove nothing.
        is_partial = self.requirement is not None and self.requirement.is_partial
        if self.nodes_known and candidates and (sharing_candidates or not is_partial):
            if not sharing_candidates:
                return Reachability.NO
            return Reachability.YES if sharing_candidates == candidates else Reachability.UNKNOWN
        by_labels = self._by_labels(resource, sharing)
        if by_labels is Reachability.NO and sharing_candidates:
            return Reachability.UNKNOWN  # a declared group of nodes
        return by_labels

    def _by_labels(self, resource: Resource, sharing: SharingClass) -> Reachability:
        if self.requirement is None:
            return Reachability.UNKNOWN
        if sharing.excluded_by(self.requirement, renamed=resource.renamed):
            return Reachability.NO
        return Reachability.YES if sharing.required_by(self.requirement) else Reachability.UNKNOWN

    def candidates(self, resource: Resource) -> Nodes:
        """The known nodes and declared groups that could take the pod for this resource."""
        candidates = self._candidates.get(resource.name)
        if candidates is None:
            offering = self.index.offering(resource.name, self.requests.peak(resource.name))
            candidates = self._candidates[resource.name] = offering and offering & self.admitted
        return candidates

    @property
    def admitted(self) -> Nodes:
        """The nodes that selectors and taints admit the pod to. `nodeName` binds without the scheduler."""
        if self._admitted is None:
            self._admitted = self._admit()
        return self._admitted

    def _admit(self) -> Nodes:
        bound = self.pod.text("nodeName")
        nodes = self.index.named(bound) if bound else self.index.all
        if self.requirement is not None:
            nodes &= self.index.selected(self.requirement)
        return nodes and nodes & ~self.index.kept_off(self.tolerations(), self.effects)

    @property
    def effects(self) -> frozenset[str]:
        """The effects of taints that keep the pod off a node. `nodeName` binds without the scheduler."""
        return _BOUND if self.pod.text("nodeName") else _SCHEDULED

    def tolerations(self) -> Tolerations:
        """The pod's own tolerations and the injected ones, so that findings do not change by the injection."""
        tolerations = tolerations_of(self.pod, self.injected.keys)
        tolerations.add(self.injected.tolerations, ())
        return tolerations

    def other_candidate(self, resource: Resource) -> bool:
        """Whether a known node or declared group without MPS could take the pod."""
        return bool(self.candidates(resource) & ~self.index.mps)

    def could_move_to_whole(self) -> bool:
        """Whether whole-card nodes satisfy the pod's own selectors, as far as labels show.

        A pod with `nodeName` stays on its node: affinity only makes the kubelet reject it.
        """
        if self.pod.text("nodeName"):
            return False
        return self.requirement is None or self.requirement.satisfiable(self.node_classes.whole)

    def whole_candidates(self, resource: Resource) -> Nodes:
        """The known nodes and declared groups with whole cards that could take the pod for this resource."""
        return self.candidates(resource) & ~(self.index.mps | self.index.time_sliced)
