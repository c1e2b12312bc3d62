"""Where a pod could land: on an MPS node yes, no or unknown, per resource. Unknown counts as yes.

Labels decide first, through node selector and required affinity. Known nodes narrow that further, and only through
nodes that exist: an absence never relaxes a refusal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from webhook.policy.demand import Demand
from webhook.policy.facts import Node
from webhook.policy.pod import Pod
from webhook.policy.quantity import NANO
from webhook.policy.selector import Domain, Requirement, requirement
from webhook.policy.settings import Resource
from webhook.policy.tolerations import blocks

STRATEGY = "nvidia.com/gpu.sharing-strategy"
REPLICAS = "nvidia.com/gpu.replicas"
PRODUCT = "nvidia.com/gpu.product"
CAPABLE = "nvidia.com/mps.capable"

_SCHEDULED = frozenset({"NoSchedule", "NoExecute"})
_BOUND = frozenset({"NoExecute"})


class Lands(Enum):
    """Whether a pod could land on an MPS node for a resource."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


class Worlds:
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


class Placement:
    """Which nodes could take a pod. `nodes` and `groups` are those known; `nodes` is None when unknown."""

    __slots__ = (
        "_known",
        "demand",
        "groups",
        "nodes",
        "pod",
        "requirement",
        "steered",
        "tolerations",
        "worlds",
    )

    def __init__(
        self,
        pod: Pod,
        demand: Demand,
        worlds: Worlds,
        nodes: tuple[Node, ...] | None,
        groups: tuple[Node, ...],
        tolerations: Iterable[Mapping[str, Any]],
    ) -> None:
        self.pod = pod
        self.demand = demand
        self.worlds = worlds
        self.nodes = nodes
        self.groups = groups
        self.tolerations = tolerations
        self.steered = False
        self.requirement: Requirement | None = requirement(pod)
        self._known: dict[str, Lands] = {}

    def steer(self) -> None:
        """Judge from now on as if the pod were kept off shared GPUs."""
        self.steered = True
        self._known.clear()

    def lands(self, resource: Resource) -> Lands:
        """Whether the pod could land on an MPS node for this resource."""
        known = self._known.get(resource.name)
        if known is None:
            known = self._known[resource.name] = self._judge(resource)
        return known

    def _judge(self, resource: Resource) -> Lands:
        if self.steered or self.demand.has_mig:
            return Lands.NO  # the plugin refuses MIG and MPS together
        by_labels = self._by_labels(resource)
        if by_labels is Lands.NO or self.nodes is None:
            return by_labels
        candidates = self.candidates(resource)
        if not candidates:
            return by_labels
        shared = [self.worlds.is_mps(node) for node in candidates]
        if not any(shared):
            return Lands.NO
        return Lands.YES if all(shared) else Lands.UNKNOWN

    def _by_labels(self, resource: Resource) -> Lands:
        if self.requirement is None:
            return Lands.UNKNOWN
        if not self.requirement.satisfiable(self.worlds.renamed if resource.renamed else self.worlds.mps):
            return Lands.NO
        if self.worlds.labels and not self.requirement.satisfiable(self.worlds.other):
            return Lands.YES
        return Lands.UNKNOWN

    @property
    def knows_nodes(self) -> bool:
        """Whether any node or group is known."""
        return bool(self.nodes or self.groups)

    def candidates(self, resource: Resource) -> list[Node]:
        """The known nodes and declared groups that could take the pod for this resource."""
        needed = self.demand.of(resource.name)
        return [
            node
            for node in (*(self.nodes or ()), *self.groups)
            if node.resources.get(resource.name, 0) * NANO >= needed and self.admits(node)
        ]

    def admits(self, node: Node) -> bool:
        """Whether selectors and taints let the pod onto the node. `nodeName` binds without the scheduler."""
        bound = self.pod.text("nodeName")
        if bound and bound != node.name:
            return False
        if self.requirement is not None and not self.requirement.matches(node.labels, node.name):
            return False
        return not blocks(node.taints, self.tolerations, _BOUND if bound else _SCHEDULED)

    def other_candidate(self, resource: Resource) -> bool:
        """Whether a known node or declared group without MPS could take the pod."""
        return any(not self.worlds.is_mps(node) for node in self.candidates(resource))

    def could_move_to_whole(self) -> bool:
        """Whether whole-card nodes satisfy the pod's own selectors, as far as labels tell."""
        return self.requirement is None or self.requirement.satisfiable(self.worlds.whole)
