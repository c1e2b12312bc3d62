"""Taints of nodes, and the tolerations of pods.

A node keeps a pod off if the pod tolerates fewer of its taints than it has. So the index counts the taints of the
nodes, and a review counts those that the pod tolerates; how many others there are does not matter.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from webhook.policy.placement.node_sets import KeyAndEffect, Nodes, union
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members, text
from webhook.policy.settings.settings import Toleration
from webhook.policy.steps import ENTRIES, Steps, converted
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Taint


_NONE: Set[str] = frozenset()

Raw = Mapping[str, Any]
"""A toleration in the form of a pod's spec."""


def as_raw(toleration: Toleration) -> dict[str, str]:
    """The toleration in the form of a pod's spec, without redundant members."""
    raw = {"key": toleration.key, "operator": toleration.operator}
    if toleration.operator == "Equal" and toleration.value:
        raw["value"] = toleration.value
    if toleration.effect is not None:
        raw["effect"] = toleration.effect
    return raw


class Tolerations:
    """Tolerations indexed by key, value and effect, so that a taint takes one lookup however many there are.

    Only those whose key is among `keys`, or that name no key, are kept: the keys of taints that matter. The rules are
    those of k8s.io/component-helpers scheduling/corev1 ToleratesTaint. The operators Gt and Lt compare numbers; the
    configured tolerations never do, so such a toleration covers none of them.
    """

    __slots__ = ("_every", "_keys", "_permanent", "_values")

    def __init__(self, keys: Container[str]) -> None:
        self._keys = keys
        self._permanent: set[tuple[str, str | None, str]] = set()
        self._every: set[tuple[str, str]] = set()
        self._values: dict[tuple[str, str], set[str]] = {}

    def add(self, tolerations: Iterable[Members], path: Path) -> None:
        """Add the tolerations of a list at a path. Raises MalformedError."""
        for index, raw in enumerate(tolerations):
            key = raw.get("key")
            if not key or not isinstance(key, str) or key in self._keys:
                self._add(raw, (*path, index))

    def _add(self, raw: Members, path: Path) -> None:
        key, operator = text(raw, "key", path), text(raw, "operator", path) or "Equal"
        if not key and operator != "Exists":
            return
        value, effect = text(raw, "value", path) if operator == "Equal" else None, text(raw, "effect", path)
        # Gt and Lt are taken as met: unknown must not count as "cannot land". They cover none of the configured ones.
        if value is None:
            self._every.add((key, effect))
        else:
            self._values.setdefault((key, effect), set()).add(value)
        if raw.get("tolerationSeconds") is None and operator in ("Exists", "Equal"):
            self._permanent.add((key, value, effect))

    def tolerate(self, taint: Taint) -> bool:
        """Whether one of them admits a pod to a node with this taint."""
        return self.tolerate_every(taint.key, taint.effect) or any(
            taint.value in self._values.get((taint.key, effect), ()) for effect in ("", taint.effect)
        )

    def tolerate_every(self, key: str, effect: str) -> bool:
        """Whether one of them tolerates all values of a taint with this key and effect."""
        every = self._every
        return bool(every) and any((one, other) in every for one in ("", key) for other in ("", effect))

    def values(self, key: str, effect: str) -> Set[str]:
        """The values of taints with this key and effect that single ones of them tolerate."""
        return self._values.get((key, ""), _NONE) | self._values.get((key, effect), _NONE)

    def keys(self, effect: str) -> Set[str]:
        """The keys of taints with this effect that they name."""
        return {key for key, own in chain(self._every, self._values) if own in ("", effect)}

    def cover(self, other: Raw) -> bool:
        """Whether one of them permanently tolerates every taint that this toleration does."""
        if not self._permanent:
            return False
        keys: list[tuple[str, str | None]] = [("", None), (other["key"], None)]
        if other["operator"] == "Equal":
            keys.append((other["key"], other.get("value") or ""))
        effects = {"", other.get("effect") or ""}
        return any((key, value, effect) in self._permanent for key, value in keys for effect in effects)


def tolerations_of(pod: Pod, keys: Container[str]) -> Tolerations:
    """The tolerations of a pod. Raises MalformedError."""
    tolerations = Tolerations(keys)
    listed = pod.elements("tolerations")
    if listed:
        tolerations.add(listed, pod.path_of("tolerations"))
    return tolerations


_PREFIXES = (
    "node.kubernetes.io/",  # https://kubernetes.io/docs/reference/labels-annotations-taints/
    "node.cloudprovider.kubernetes.io/",
    "node.cluster.x-k8s.io/",  # kubernetes-sigs/cluster-api api/core/v1beta2
    "cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",  # kubernetes/autoscaler utils/taints/taints.go
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",  # kubernetes-sigs/karpenter pkg/apis/v1/taints.go
    "karpenter.azure.com/",
    "karpenter.k8s.aws/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "remediation.medik8s.io/",
    "medik8s.io/",
)
_KEYS = frozenset({"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"})
_MAINTENANCE = "maintenance"
_STARTING = "agent-not-ready"
"""Agents of nodes remove it once they run (kubernetes/kops#15464, kubernetes-sigs/aws-ebs-csi-driver#1949)."""


def is_lifecycle(key: str) -> bool:
    """Whether a taint's key shows a passing state of the node.

    Kubernetes, cloud providers and autoscalers set such taints. No pod should tolerate them for its GPU, and they are
    no evidence that a pod can never run on the node.
    """
    name = key.rpartition("/")[2]
    return key.startswith(_PREFIXES) or key in _KEYS or name == _STARTING or _MAINTENANCE in name.lower()


Counts: TypeAlias = list[Nodes]
"""How often nodes were counted: at index n the nodes that were counted more than n times. The last is not empty."""


def _count(counts: Counts, nodes: Nodes) -> None:
    for times, more in enumerate(counts):
        if not nodes:
            return
        counts[times] = more | nodes
        nodes &= more
    if nodes:
        counts.append(nodes)


class _Taints(NamedTuple):
    """The nodes with taints of one key and effect, by the taint's value, and by how many of them they have.

    The API server allows a node one of them.
    """

    by_value: Mapping[str, Nodes]
    counts: Counts


class TaintIndex(NamedTuple):
    """The taints of known nodes. `counts`: how many a node has, by effect, and by whether they show a passing state."""

    by_key: Mapping[KeyAndEffect, _Taints]
    counts: Mapping[tuple[str, bool], Counts]

    def having(self, key: KeyAndEffect) -> Nodes:
        """The nodes with a taint of this key and effect, which some node has."""
        return self.by_key[key].counts[0]

    def untolerated(self, tolerations: Tolerations, effects: frozenset[str], *, passing: bool) -> tuple[Nodes, Nodes]:
        """The nodes with taints of the effects that nothing tolerates, and those with exactly one such taint.

        `passing`: those that show a passing state of the node, else those that last.
        """
        some = several = 0
        for effect in effects:
            there = self.counts.get((effect, passing))
            if there is None or tolerations.tolerate_every("", effect):
                continue
            tolerated = self._tolerated(tolerations, effect, passing=passing)
            one = union(more & ~most for more, most in zip_longest(there, tolerated, fillvalue=0))
            two = union(more & ~most for more, most in zip_longest(there[1:], tolerated, fillvalue=0))
            several |= two | some & one
            some |= one
        return some, some & ~several

    def _tolerated(self, tolerations: Tolerations, effect: str, *, passing: bool) -> Counts:
        counts: Counts = []
        for key in tolerations.keys(effect):
            taints = self.by_key.get((key, effect))
            if taints is None or is_lifecycle(key) is not passing:
                continue
            if tolerations.tolerate_every(key, effect):
                found = taints.counts
            else:  # a node with several of the values is in several sets
                values = tolerations.values(key, effect)
                found = [taints.by_value[value] for value in values if value in taints.by_value]
            for nodes in found:
                _count(counts, nodes)
        return counts


def _taints(by_value: Mapping[str, Nodes]) -> Steps[_Taints]:
    counts: Counts = []
    for at, nodes in enumerate(by_value.values(), 1):
        _count(counts, nodes)
        if at % ENTRIES == 0:
            yield
    return _Taints(by_value, counts)


def taint_index(sets: Mapping[KeyAndEffect, Mapping[str, Nodes]]) -> Steps[TaintIndex]:
    """Index sets of nodes by key and effect, and by value, of their taints. In steps."""
    by_key = yield from converted(sets, _taints)
    counts: dict[tuple[str, bool], Counts] = {}
    for at, ((key, effect), taints) in enumerate(by_key.items(), 1):
        own = counts.setdefault((effect, is_lifecycle(key)), [])
        for nodes in taints.counts:
            _count(own, nodes)
        if at % ENTRIES == 0:
            yield
    return TaintIndex(by_key, counts)
