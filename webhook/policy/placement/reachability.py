"""Where a pod could land: on an MPS node yes, no or unknown, per resource. Unknown counts as yes.

Labels decide first, through node selector and required affinity. Known nodes narrow that further, and only through
nodes that exist: an absence never relaxes a refusal.
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
from webhook.policy.pods.requests import Demand
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
    """The kinds of nodes there can be, told by their labels, as domains."""

    __slots__ = ("labels", "mps", "other", "renamed", "sharing", "whole")

    def __init__(self, mps_labels: Mapping[str, str]) -> None:
        self.labels = mps_labels
        certain = {key: Domain(only=frozenset({value})) for key, value in mps_labels.items()}
        plugin = STRATEGY in mps_labels or CAPABLE in mps_labels
        # Feature discovery sets these for the plugin's own sharing, and says 1 for a card that is not shared.
        self.renamed = {**certain, REPLICAS: Domain(least=2)} if plugin else certain
        # A shared product is called so, unless the resource says it already (k8s-device-plugin internal/lm).
        self.mps = {**self.renamed, PRODUCT: Domain(suffix="-SHARED")} if plugin else certain
        self.other = {key: Domain(but=frozenset({value}), absent=True) for key, value in mps_labels.items()}
        self.whole = {STRATEGY: Domain(but=frozenset({"mps", "time-slicing"}), absent=True)} if plugin else self.other
        self.sharing = {STRATEGY: Domain(only=frozenset({"mps", "time-slicing"}))} if plugin else {}

    def is_mps(self, node: Node) -> bool:
        """Whether a node's labels say MPS; without any label to go by it could be."""
        return not self.labels or any(node.labels.get(key) == value for key, value in self.labels.items())


class Injected(NamedTuple):
    """The tolerations that are injected, and the keys of all taints that matter."""

    tolerations: Sequence[dict[str, str]]
    keys: Container[str]


class Placement:
    """Which nodes could take a pod. `index` holds the known nodes and groups, `nodes_known` says whether facts do."""

    __slots__ = (
        "_admitted",
        "_candidates",
        "_known",
        "demand",
        "index",
        "injected",
        "node_classes",
        "nodes_known",
        "pod",
        "requirement",
        "steered",
    )

    def __init__(
        self,
        pod: Pod,
        demand: Demand,
        node_classes: NodeClasses,
        index: NodeIndex,
        injected: Injected,
        *,
        nodes_known: bool,
    ) -> None:
        self.pod = pod
        self.demand = demand
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
        """Decide from now on as if the pod were kept off shared GPUs."""
        self.steered = True
        self._known.clear()

    def unsteer(self) -> None:
        """Decide again for the pod as it is."""
        self.steered = False
        self._known.clear()

    def lands(self, resource: Resource) -> Reachability:
        """Whether the pod could land on an MPS node for this resource."""
        known = self._known.get(resource.name)
        if known is None:
            known = self._known[resource.name] = self._decide(resource)
        return known

    def _decide(self, resource: Resource) -> Reachability:
        if self.steered or self.demand.has_mig:
            return Reachability.NO  # the plugin refuses MIG and MPS together
        by_labels = self._by_labels(resource)
        if by_labels is Reachability.NO or not self.nodes_known:
            return by_labels
        candidates = self.candidates(resource)
        if not candidates:
            return by_labels
        shared = candidates & self.index.mps
        if not shared:
            # Of an affinity that is not analysed, these nodes need not satisfy it, and then they tell nothing.
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
            offering = self.index.offering(resource.name, self.demand.of(resource.name))
            candidates = self._candidates[resource.name] = offering and offering & self.admitted
        return candidates

    @property
    def admitted(self) -> Nodes:
        """The nodes onto which selectors and taints let the pod. `nodeName` binds without the scheduler."""
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
