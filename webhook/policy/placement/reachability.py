"""Where a pod could land: on nodes that share their cards, yes, no or unknown, per resource. Unknown counts as yes.

Known nodes that could take the pod decide, whatever state they pass through: a pod outlives that state, so that a
cordoned node, or one whose device plugin restarts, counts like any other. Without such nodes the pod's labels decide,
through node selector and required affinity: an absent node never relaxes a rejection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from fnmatch import fnmatchcase

from webhook.policy.memo import Lazy
from webhook.policy.placement.facts import NOTHING_SHOWN, Facts, Shown
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.placement.node_classes import SHARING, STRATEGY, NodeClasses, SharingStrategy
from webhook.policy.placement.node_index import NodeBitset, NodeIndex, indexing
from webhook.policy.placement.selector import (
    Constraint,
    Expression,
    Requirement,
    Tolerations,
    is_lifecycle,
    requirement,
    tolerations_of,
)
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import Resource, Settings
from webhook.policy.steps import Steps

_MOST_TOLERABLE = 16
"""Taints of nodes that pods get tolerations for. Clusters have a handful that match."""


class ClusterNodes:
    """Where pods can run. `known`: `index` holds all GPU nodes of the cluster, or the groups describe all of them.

    `decide`: the nodes of the index that could take a pod show how it may share a card, even if others are not known.
    `are_shown`: objects show how nodes share their cards. `strategies`: how those may share of which nothing is known;
    None: in any way. `refused`: the configurations that the plugin refuses.
    `tolerable`: keys and effects of the nodes' taints that the settings allow to tolerate. `dynamic`: the resources
    that a DeviceClass serves (KEP-5004), on nodes that are not in the index. `taint_keys`: those of all taints and of
    configured tolerations. `admitted_to_whole_cards`: the nodes that meet the expressions of `whole_cards`.
    """

    def __init__(
        self, settings: Settings, facts: Facts, classes: NodeClasses, index: NodeIndex, shown: Shown = NOTHING_SHOWN
    ) -> None:
        tolerations, served = settings.injections.tolerations, facts.device_classes or ()
        self.classes = classes
        self.index = index
        self.known = facts.nodes is not None or settings.placement.groups_are_complete
        self.decide = self.known or bool(shown.nodes)
        self.strategies = shown.strategies
        self.refused = shown.refused
        self.are_shown = shown.strategies is not None or any(
            index.sharing(strategy, resource.name) & ~index.unknown
            for resource in (settings.resources if shown.nodes else ())
            for strategy in SHARING
        )
        taints = index.taints.by_key
        # Of the matching taints, those with the most nodes, so that no single node decides which pods tolerate; where
        # equally many nodes have them, in the order of their names, so that replicas agree.
        matching = [
            (key, effect)
            for key, effect in (taints if tolerations.enabled else ())
            if any(fnmatchcase(key, pattern) for pattern in tolerations.from_nodes) and not is_lifecycle(key)
        ]
        self.tolerable = sorted(matching, key=lambda each: (-taints[each].present.bit_count(), each))[:_MOST_TOLERABLE]
        self.dynamic = frozenset(each.extended_resource_name for each in served if each.extended_resource_name)
        configured = {toleration.key for toleration in tolerations.add} | {each.name for each in settings.resources}
        self.taint_keys = configured.union(key for key, _ in taints)
        self.whole_cards = WholeCards(
            classes, labels_suffice=self.known and not index.unlabelled, all_discovered=not index.undiscovered
        )
        self.admitted_to_whole_cards = index.selected(self.whole_cards.requirement())

    def selected_by(self, selector: Mapping[str, str]) -> NodeBitset:
        """The nodes that a node selector alone selects."""
        return self.index.selected(Requirement(selector, None))


def cluster_nodes(settings: Settings, facts: Facts, shown: Shown = NOTHING_SHOWN) -> Steps[ClusterNodes]:
    """The nodes of settings and facts, and those that objects show."""
    classes = NodeClasses(settings, facts.device_plugin)
    groups = []
    if settings.placement.node_groups:
        from webhook.policy.placement.cluster_objects import Node, Taint  # few settings have node groups

        for group in settings.placement.node_groups:
            taints = tuple(Taint(taint.key, taint.effect, taint.value) for taint in group.taints)
            groups.append(Node(group.name, group.labels, taints, group.resources))
    index = yield from indexing((*(facts.nodes or ()), *shown.nodes), classes, groups, Decisive.of(settings))
    return ClusterNodes(settings, facts, classes, index, shown)


_LONGEST = 200
"""Characters of node affinity that a remedy spells out. A line of a denial has about 300 characters."""


class WholeCards:
    """The expressions that admit nodes with whole cards alone, and the labels of such nodes.

    They exclude the nodes of sharing classes, by their configuration too unless `labels_suffice`: some nodes lack the
    labels. Unless `all_discovered`, only the label that GPU feature discovery sets marks whole cards. `text` spells the
    expressions out.
    """

    def __init__(self, classes: NodeClasses, *, labels_suffice: bool, all_discovered: bool) -> None:
        self.expressions = [Expression(key, "NotIn", values) for key, values in classes.excluded.items()]
        if not all_discovered:
            self.expressions = [_UNSHARED, *(each for each in self.expressions if each.key != STRATEGY)]
        if not labels_suffice:
            self.expressions += classes.configs.label_of_whole_cards()
        added = (each for each in self.expressions if each.operator == "In" or each.key not in classes.whole)
        self.labels = {**classes.whole, **{each.key: each.constraint for each in added}}
        # Values are quoted as YAML needs them: without quotes `true` would not be text.
        spelled = " and ".join(
            '{} {} ["{}"]'.format(each.key, each.operator, '", "'.join(each.values)) for each in self.expressions
        )
        self.text = spelled if len(spelled) <= _LONGEST else _SUMMARY

    def requirement(self) -> Requirement:
        """The expressions as what a pod requires of its node."""
        term: dict[str, Constraint] = {}
        for each in self.expressions:
            term.setdefault(each.key, Constraint()).add(each.operator, each.values)
        return Requirement({}, [term])


_UNSHARED = Expression(STRATEGY, "In", ("none",))
_SUMMARY = "NotIn for each label of placement.mpsLabels and timeSlicingLabels"


_SCHEDULED = frozenset({"NoSchedule", "NoExecute"})
_BOUND = frozenset({"NoExecute"})


class Reachability(Enum):
    """Whether a pod could land on a class of nodes for a resource."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


class Placement:
    """Which nodes could take a pod. `configured`: the tolerations of the settings; None: it gets none.

    `class_selector`: the node selector of the RuntimeClass that the pod names. `namespace_selector`: the one that the
    namespace adds to a pod that is yet to be made.
    """

    def __init__(
        self,
        pod: Pod,
        requests: GpuRequests,
        cluster: ClusterNodes,
        configured: Sequence[dict[str, str]] | None,
        class_selector: Mapping[str, str],
        namespace_selector: Mapping[str, str] | None = None,
    ) -> None:
        self.pod = pod
        self.requests = requests
        self.cluster = cluster
        self.configured = configured
        self.class_selector = class_selector
        self.namespace_selector = namespace_selector
        self.requirement = requirement(pod, namespace_selector)
        self._lands: dict[tuple[SharingStrategy, str], Reachability] = {}

    def lands(self, resource: Resource, strategy: SharingStrategy = "mps") -> Reachability:
        """Whether the pod could land on a node with a strategy for this resource."""
        if strategy == "mps" and self.requests.has_mig:
            return Reachability.NO  # the plugin rejects MIG together with MPS
        decided = self._lands.get((strategy, resource.name))
        if decided is None:
            decided = self._lands[strategy, resource.name] = self._decide(strategy, resource)
        return decided

    def _decide(self, strategy: SharingStrategy, resource: Resource) -> Reachability:
        cluster, index, required = self.cluster, self.cluster.index, self.requirement
        sharing = self.sharing(strategy, resource) if index.all else 0
        is_dynamic = resource.name in cluster.dynamic
        # Nodes need not satisfy an affinity that was not analysed in full; then other nodes prove nothing.
        is_partial = required is not None and required.is_partial
        if cluster.decide:
            others = self._of_class() & ~(sharing & ~index.unknown)
            if sharing:
                is_open = others or is_dynamic or not cluster.known
                return Reachability.UNKNOWN if is_open else Reachability.YES
            excludes = cluster.known
            if strategy not in (cluster.strategies or ()):
                # Nodes that objects merely show prove no absence, but that the cluster shares cards in the other way.
                other: SharingStrategy = "time-slicing" if strategy == "mps" else "mps"
                excludes = excludes or bool(others & index.sharing(other, resource.name) & ~index.unknown)
            if others and not is_partial and excludes:
                return Reachability.NO
        nodes = cluster.classes.sharing[strategy]
        if (strategy == "time-slicing" and not nodes.labels) or (
            required is not None and nodes.excluded_by(required, renamed=resource.renamed)
        ):
            return Reachability.UNKNOWN if sharing else Reachability.NO  # a declared group of nodes may share it
        if required is not None and nodes.required_by(required):
            return Reachability.YES
        if cluster.known and is_dynamic and not is_partial:
            return Reachability.NO  # a node of the DeviceClass takes the pod, which need not land on one that shares
        is_unlikely = cluster.strategies is not None and strategy not in cluster.strategies
        return Reachability.NO if is_unlikely and not sharing else Reachability.UNKNOWN

    def sharing(self, strategy: SharingStrategy, resource: Resource) -> NodeBitset:
        """The known nodes and declared groups that could take the pod and share this resource."""
        members = self.cluster.index.sharing(strategy, resource.name)
        return members and members & self._of_class()

    @Lazy
    def possible(self) -> NodeBitset:
        """The known nodes and declared groups that could take the pod, now or after a passing state of theirs.

        A cordoned node is one, and so is one whose device plugin restarts: its amount is unknown. Limits depend on
        these alone, so that a passing state neither lifts a limit nor imposes one.
        """
        offering = self.cluster.index.all and self.offering[1]
        nodes = offering and offering & self.selected
        return nodes and nodes & ~self.kept_off[0]

    def _of_class(self) -> NodeBitset:
        """The possible nodes that the pod's RuntimeClass selects.

        The API server adds this selector to the pods of a template. A class that selects none of the nodes proves
        nothing.
        """
        possible = self.possible
        selected = possible & self.cluster.selected_by(self.class_selector) if self.class_selector else 0
        return selected or possible

    @Lazy
    def candidates(self) -> NodeBitset:
        """The known nodes and declared groups that can take the pod now: they offer all GPUs that it asks for."""
        nodes = self.possible and self.possible & self.offering[0]
        return nodes and nodes & ~self.kept_off[2]

    @property
    def beside(self) -> Mapping[str, int]:
        """The amounts of extended resources beside GPUs that some node lists, such as network devices, by name.

        They decide where the pod can run, and never about limits: an author chooses them.
        """
        index, gpus = self.cluster.index, self.cluster.classes.gpus
        names = {name for one in self.pod.containers for name in (*one.limits, *one.requests) if "/" in name}
        others = {name for name in names - self.cluster.dynamic if name not in gpus and name in index.offered}
        return GpuRequests(self.pod, lambda name: Resource(name) if name in others else None).peaks if others else {}

    @Lazy
    def offering(self) -> tuple[NodeBitset, NodeBitset]:
        """The nodes that offer all GPUs that the pod asks for, and those together with the ones that are not ready."""
        index = self.cluster.index
        now = later = index.all
        for name, peak in self.requests.peaks.items():
            offering = index.offering(name, peak)
            now &= offering
            later &= offering | index.unready(name)
        return now, later

    @Lazy
    def kept_off(self) -> tuple[NodeBitset, NodeBitset, NodeBitset]:
        """The nodes with taints that nothing tolerates: any that last, exactly one that lasts, and any that pass."""
        taints, tolerations, effects = self.cluster.index.taints, self.tolerations(), self.effects
        lasting, once = taints.untolerated(tolerations, effects, passing=False)
        passing, _ = taints.untolerated(tolerations, effects, passing=True)
        return lasting, once, passing

    @Lazy
    def selected(self) -> NodeBitset:
        """The nodes that satisfy the pod's selectors, whatever their taints. `nodeName` binds without the scheduler."""
        bound, index = self.pod.text("nodeName"), self.cluster.index
        nodes = index.named(bound) if bound else index.all
        return nodes if self.requirement is None else nodes & index.selected(self.requirement)

    @property
    def effects(self) -> frozenset[str]:
        """The effects of taints that keep the pod off a node."""
        return _BOUND if self.pod.text("nodeName") else _SCHEDULED

    def tolerations(self) -> Tolerations:
        """The pod's own tolerations and the injected ones, so that findings do not change by the injection."""
        tolerations = tolerations_of(self.pod, self.cluster.taint_keys)
        tolerations.add(self.injected_tolerations, ())
        return tolerations

    @Lazy
    def injected_tolerations(self) -> Sequence[dict[str, str]]:
        """The configured tolerations, and those for taints of nodes that could take the pod if it tolerated them."""
        if self.configured is None or not self.cluster.tolerable or not self.requests.positive:
            return self.configured or ()
        nodes, taints = self.selected & self.offering[1], self.cluster.index.taints.by_key
        admitting = [
            {"key": key, "operator": "Exists", "effect": effect}
            for key, effect in self.cluster.tolerable
            if nodes & taints[key, effect].present
        ]
        return [*self.configured, *(raw for raw in admitting if raw not in self.configured)]

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

    def whole_candidates(self, resource: Resource) -> NodeBitset:
        """The known nodes and declared groups with whole cards that could take the pod for this resource."""
        index = self.cluster.index
        sharing = index.sharing("mps", resource.name) | index.sharing("time-slicing", resource.name)
        return self._of_class() & self.cluster.admitted_to_whole_cards & ~sharing
