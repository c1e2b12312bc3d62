"""Tolerations: which taints they tolerate, and whether they cover every taint that another toleration would.

The rules are those of k8s.io/component-helpers scheduling/corev1 ToleratesTaint. The operators Gt and Lt compare
numbers; the configured ones never do, so such a toleration covers none of them.

Kubernetes, cloud providers and autoscalers set taints that show a passing state of a node. No pod should tolerate them
for its GPU, and they are no evidence that a pod can never run on the node: see `is_lifecycle`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import TYPE_CHECKING, Any

from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members, text
from webhook.policy.settings.injections import Toleration
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
    """Tolerations indexed by what they tolerate, so that a taint takes one lookup however many there are.

    Only those whose key is among `keys`, or that name no key, are kept: the keys of taints that matter.
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

    def values(self, key: str, effect: str) -> Iterator[str]:
        """The values of taints with this key and effect that single ones of them tolerate, each once."""
        any_effect = self._values.get((key, ""), _NONE)
        yield from any_effect
        yield from self._values.get((key, effect), _NONE) - any_effect

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
    """Whether a taint's key shows a passing state of the node."""
    name = key.rpartition("/")[2]
    return key.startswith(_PREFIXES) or key in _KEYS or name == _STARTING or _MAINTENANCE in name.lower()
