"""Whether a pod could land on an MPS node: yes, no or unknown, per resource. Unknown counts as yes.

Labels decide first, through node selector and required affinity. Known nodes narrow the result further, but only nodes
that exist do: an absent node never relaxes a rejection.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from webhook.policy.placement.facts import Node
from webhook.policy.placement.node_index import NodeIndex, Nodes
from webhook.policy.placement.selector import Domain, Requirement, requirement
from webhook.policy.placement.tolerations import Tolerations, tolerations_of
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import Resource

STRATEGY = "nvidia.com/gpu.sharing-strategy"
REPLICAS = "nvidia.com/gpu.replicas"
PRODUCT = "nvidia.com/gpu.product"
CAPABLE = "nvidia.com/mps.capable"

_SCHEDULED = frozenset({"NoSchedule", "NoExecute"})
_BOUND = frozenset({"NoExecute"})


class Reachability(Enum):
    """Whether a pod could land on an MPS node for a resource."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


class NodeClasses:
    """The classes of nodes, described by the values that their labels may have."""

    __slots__ = ("labels", "mps", "other", "renamed", "sharing", "whole")

    def __init__(self, mps_labels: Mapping[str, str]) -> None:
        self.labels = mps_labels
        certain = {key: Domain(only=frozenset({value})) for key, value in mps_labels.items()}
        plugin = STRATEGY in mps_labels or CAPABLE in mps_labels
        # GPU feature discovery sets these for the plugin's own sharing; the value is 1 for a card that is not shared.
        self.renamed = {**certain, REPLICAS: Domain(least=2)} if plugin else certain
        # The product of a shared card has the suffix, unless the resource is renamed (k8s-device-plugin internal/lm).
        self.mps = {**self.renamed, PRODUCT: Domain(suffix="-SHARED")} if plugin else certain
        self.other = {key: Domain(but=frozenset({value}), absent=True) for key, value in mps_labels.items()}
        self.whole = {STRATEGY: Domain(but=frozenset({"mps", "time-slicing"}), absent=True)} if plugin else self.other
        self.sharing = {STRATEGY: Domain(only=frozenset({"mps", "time-slicing"}))} if plugin else {}

    def is_mps(self, node: Node) -> bool:
        """Whether a node's labels mark it as an MPS node; without configured labels any node could be one."""
        return not self.labels or any(node.labels.get(key) == value for key, value in self.labels.items())


class Injected(NamedTuple):
    """The tolerations to inject, and the keys of all taints that matter."""

    tolerations: Sequence[dict[str, str]]
    keys: Container[str]


class Placement:
    """Which nodes could take a pod. `index`: known nodes and node groups. `nodes_known`: the facts include nodes."""

    __slots__ = (
        "_admitted",
        "_candidates",
        "_known",
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
        self._known: dict[str, Reachability] = {}
        self._admitted: Nodes | None = None
        self._candidates: dict[str, Nodes] = {}

    def steer(self) -> None:
        """From now on, decide as if the pod were kept off shared GPUs."""
        self.steered = True
        self._known.clear()

    def unsteer(self) -> None:
        """Decide for the pod as it is again."""
        self.steered = False
        self._known.clear()

    def lands(self, resource: Resource) -> Reachability:
        """Whether the pod could land on an MPS node for this resource."""
        known = self._known.get(resource.name)
        if known is None:
            known = self._known[resource.name] = self._decide(resource)
        return known

    def _decide(self, resource: Resource) -> Reachability:
        if self.steered or self.requests.has_mig:
            return Reachability.NO  # the plugin rejects MIG together with MPS
        by_labels = self._by_labels(resource)
        if by_labels is Reachability.NO or not self.nodes_known:
            return by_labels
        candidates = self.candidates(resource)
        if not candidates:
            return by_labels
        shared = candidates & self.index.mps
        if not shared:
            # These nodes need not satisfy an affinity that was not analysed in full; then they prove nothing.
            return by_labels if self.requirement is not None and self.requirement.is_partial else Reachability.NO
        return Reachability.YES if shared == candidates else Reachability.UNKNOWN

    def _by_labels(self, resource: Resource) -> Reachability:
        if self.requirement is None:
            return Reachability.UNKNOWN
        if not self.requirement.satisfiable(self.node_classes.renamed if resource.renamed else self.node_classes.mps):
            return Reachability.NO
        if self.node_classes.labels and not self.requirement.satisfiable(self.node_classes.other):
            return Reachability.YES
        return Reachability.UNKNOWN

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
        return nodes and nodes & ~self.index.kept_off(self._tolerations(), _BOUND if bound else _SCHEDULED)

    def _tolerations(self) -> Tolerations:
        """The pod's own tolerations and the injected ones, so that findings do not change by the injection."""
        tolerations = tolerations_of(self.pod, self.injected.keys)
        tolerations.add(self.injected.tolerations, ())
        return tolerations

    def other_candidate(self, resource: Resource) -> bool:
        """Whether a known node or declared group without MPS could take the pod."""
        return bool(self.candidates(resource) & ~self.index.mps)

    def could_move_to_whole(self) -> bool:
        """Whether whole-card nodes satisfy the pod's own selectors, as far as labels show."""
        return self.requirement is None or self.requirement.satisfiable(self.node_classes.whole)
