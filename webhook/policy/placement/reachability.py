"""Whether a pod could land on nodes that share their cards: yes, no or unknown, per resource. Unknown counts as yes.

Known nodes that could take the pod decide, whatever state they pass through: a pod outlives that state, so that a
cordoned node, or one whose device plugin restarts, counts like any other. Without such nodes the pod's labels decide,
through node selector and required affinity: an absent node never relaxes a rejection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from webhook.policy.placement.cluster_nodes import ClusterNodes
from webhook.policy.placement.node_classes import SharingClass, SharingStrategy
from webhook.policy.placement.node_sets import Nodes
from webhook.policy.placement.selector import Requirement, requirement
from webhook.policy.placement.taints import Tolerations, tolerations_of
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


class Placement:
    """Which nodes could take a pod. `configured`: the tolerations of the settings; None: it gets none.

    `class_selector`: the node selector of the RuntimeClass that the pod names. While it is `steered`, all is decided as
    if the pod were kept off shared GPUs.
    """

    __slots__ = (
        "_admitted",
        "_lands",
        "_offer",
        "_selected",
        "_tolerations",
        "class_selector",
        "cluster",
        "configured",
        "pod",
        "requests",
        "requirement",
        "steered",
    )

    def __init__(
        self,
        pod: Pod,
        requests: GpuRequests,
        cluster: ClusterNodes,
        configured: Sequence[dict[str, str]] | None,
        class_selector: Mapping[str, str],
    ) -> None:
        self.pod = pod
        self.requests = requests
        self.cluster = cluster
        self.configured = configured
        self.class_selector = class_selector
        self.steered = False
        self._offer: tuple[Nodes, Nodes] | None = None
        self.require(requirement(pod))

    def require(self, required: Requirement | None) -> None:
        """From now on, decide as if the pod required this of its node."""
        self.requirement = required
        self._lands: dict[tuple[SharingStrategy, str], Reachability] = {}
        self._selected: Nodes | None = None
        self._admitted: tuple[Nodes, Nodes] | None = None
        self._tolerations: Sequence[dict[str, str]] | None = None

    def lands(self, resource: Resource, strategy: SharingStrategy = "mps") -> Reachability:
        """Whether the pod could land on a node with a strategy for this resource."""
        if self.steered or (strategy == "mps" and self.requests.has_mig):
            return Reachability.NO  # the plugin rejects MIG together with MPS
        decided = self._lands.get((strategy, resource.name))
        if decided is None:
            decided = self._lands[strategy, resource.name] = self._decide(strategy, resource)
        return decided

    def _decide(self, strategy: SharingStrategy, resource: Resource) -> Reachability:
        sharing = self.sharing(strategy, resource) if self.cluster.index.all else 0
        is_dynamic = resource.name in self.cluster.dynamic
        if self.cluster.decide:
            certain = sharing & ~self.cluster.index.unknown
            others = self._of_class() & ~certain
            if sharing:
                is_open = others or is_dynamic or not self.cluster.known
                return Reachability.UNKNOWN if is_open else Reachability.YES
            # Nodes need not satisfy an affinity that was not analysed in full; then other nodes prove nothing.
            is_partial = self.requirement is not None and self.requirement.is_partial
            # Nodes that objects merely show prove no absence, but how the cluster shares cards instead.
            excludes = self.cluster.known or self.cluster.shares_otherwise(strategy, resource.name, others)
            if others and not is_partial and excludes:
                return Reachability.NO
        by_labels = self._by_labels(self.cluster.classes.sharing[strategy], resource)
        if by_labels is Reachability.NO and sharing:
            return Reachability.UNKNOWN  # a declared group of nodes
        if by_labels is Reachability.UNKNOWN and self.cluster.known and is_dynamic and not is_partial:
            return Reachability.NO  # a node of the DeviceClass takes the pod, which need not land on one that shares
        if by_labels is Reachability.UNKNOWN and not sharing and not self.cluster.may_share(strategy):
            return Reachability.NO
        return by_labels

    def _by_labels(self, sharing: SharingClass, resource: Resource) -> Reachability:
        if sharing is self.cluster.classes.time_slicing and not sharing.labels:
            return Reachability.NO
        if self.requirement is None:
            return Reachability.UNKNOWN
        if sharing.excluded_by(self.requirement, renamed=resource.renamed):
            return Reachability.NO
        return Reachability.YES if sharing.required_by(self.requirement) else Reachability.UNKNOWN

    def sharing(self, strategy: SharingStrategy, resource: Resource) -> Nodes:
        """The known nodes and declared groups that could take the pod and share this resource."""
        members = self.cluster.index.sharing(strategy, resource.name)
        return members and members & self._of_class()

    @property
    def possible(self) -> Nodes:
        """The known nodes and declared groups that could take the pod, now or after a passing state of theirs.

        A cordoned node is one, and so is one whose device plugin restarts: its amount is unknown. Limits depend on
        these alone, so that a passing state neither lifts a limit nor imposes one.
        """
        if not self.cluster.index.all:
            return 0
        offering = self.offering[1]
        return offering and offering & self._admit()[1]

    def _of_class(self) -> Nodes:
        """The possible nodes that the pod's RuntimeClass selects.

        The API server adds this selector to the pods of a template. Where the class selects none of the nodes, GPS011
        reports that, and the class proves nothing.
        """
        possible = self.possible
        selected = possible & self.cluster.selected_by(self.class_selector) if self.class_selector else 0
        return selected or possible

    @property
    def candidates(self) -> Nodes:
        """The known nodes and declared groups that can take the pod now: they offer all GPUs that it asks for."""
        offering = self.offering[0]
        return offering and offering & self.admitted

    @property
    def offering(self) -> tuple[Nodes, Nodes]:
        """The nodes that offer all GPUs that the pod asks for, and those together with the ones that are not ready."""
        if self._offer is None:
            index, requests = self.cluster.index, self.requests
            now = later = index.all
            for name, peak in requests.peaks.items():
                offering = index.offering(name, peak)
                now &= offering
                later &= offering | index.unready(name)
            self._offer = now, later
        return self._offer

    @property
    def admitted(self) -> Nodes:
        """The nodes that selectors and taints admit the pod to. `nodeName` binds without the scheduler."""
        return self._admit()[0]

    def _admit(self) -> tuple[Nodes, Nodes]:
        """The nodes that admit the pod now, and those that do but for a passing state of theirs."""
        if self._admitted is None:
            nodes = self.selected
            lasting, _, passing = self.kept_off() if nodes else (0, 0, 0)
            self._admitted = nodes & ~(lasting | passing), nodes & ~lasting
        return self._admitted

    def kept_off(self) -> tuple[Nodes, Nodes, Nodes]:
        """The nodes with taints that nothing tolerates: any that last, exactly one that lasts, and any that pass."""
        taints, tolerations, effects = self.cluster.index.taints, self.tolerations(), self.effects
        lasting, once = taints.untolerated(tolerations, effects, passing=False)
        passing, _ = taints.untolerated(tolerations, effects, passing=True)
        return lasting, once, passing

    @property
    def selected(self) -> Nodes:
        """The nodes that satisfy the pod's selectors, whatever their taints."""
        if self._selected is None:
            bound, index = self.pod.text("nodeName"), self.cluster.index
            nodes = index.named(bound) if bound else index.all
            if self.requirement is not None:
                nodes &= index.selected(self.requirement)
            self._selected = nodes
        return self._selected

    @property
    def effects(self) -> frozenset[str]:
        """The effects of taints that keep the pod off a node."""
        return _BOUND if self.pod.text("nodeName") else _SCHEDULED

    def tolerations(self) -> Tolerations:
        """The pod's own tolerations and the injected ones, so that findings do not change by the injection."""
        tolerations = tolerations_of(self.pod, self.cluster.taint_keys)
        tolerations.add(self.injected_tolerations, ())
        return tolerations

    @property
    def injected_tolerations(self) -> Sequence[dict[str, str]]:
        """The configured tolerations, and those for taints of nodes that could take the pod if it tolerated them."""
        if self._tolerations is None:
            configured = self._tolerations = self.configured or ()
            if self.cluster.tolerable and self.requests.positive and self.configured is not None:
                self._tolerations = [*configured, *self._from_nodes(configured)]
        return self._tolerations

    def _from_nodes(self, configured: Sequence[dict[str, str]]) -> list[dict[str, str]]:
        index = self.cluster.index
        nodes = self.selected & self.offering[1]
        found = [
            {"key": key, "operator": "Exists", "effect": effect}
            for key, effect in self.cluster.tolerable
            if nodes & index.taints.having((key, effect))
        ]
        return [raw for raw in found if raw not in configured]

    def other_candidate(self, resource: Resource) -> bool:
        """Whether a known node or declared group without MPS could take the pod, or a node of a DeviceClass."""
        if resource.name in self.cluster.dynamic:
            return True
        return bool(self.possible & ~self.cluster.index.sharing("mps", resource.name))

    def could_move_to_whole(self) -> bool:
        """Whether affinity can move the pod to whole cards: they satisfy its own selectors, as far as labels show.

        A pod with `nodeName` stays on its node: affinity only makes the kubelet reject it. No affinity keeps a pod off
        a node whose labels are not all known.
        """
        if (
            self.pod.text("nodeName")
            or self.possible & self.cluster.admitted_to_whole_cards & self.cluster.index.unknown
        ):
            return False
        return self.requirement is None or self.requirement.satisfiable(self.cluster.whole_cards.labels)

    def whole_candidates(self, resource: Resource) -> Nodes:
        """The known nodes and declared groups with whole cards that could take the pod for this resource."""
        return self._of_class() & self._without_sharing(resource.name)

    @property
    def left_by_steering(self) -> Nodes:
        """The nodes that the affinity of steering leaves to the pod; all nodes for a pod that is not steered."""
        nodes = self.cluster.index.all
        for name in self.requests.peaks if self.steered else ():
            nodes &= self._without_sharing(name)
        return nodes

    def _without_sharing(self, resource: str) -> Nodes:
        index = self.cluster.index
        sharing = index.sharing("mps", resource) | index.sharing("time-slicing", resource)
        return self.cluster.admitted_to_whole_cards & ~sharing
