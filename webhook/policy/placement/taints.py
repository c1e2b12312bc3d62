"""The tolerations of pods, and the taints that show a passing state of a node."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from itertools import chain
from typing import TYPE_CHECKING, Any

from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members, text
from webhook.policy.settings.settings import Toleration
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
            if key and isinstance(key, str) and key not in self._keys:
                continue
            place = (*path, index)
            key, operator = text(raw, "key", place), text(raw, "operator", place) or "Equal"
            if not key and operator != "Exists":
                continue
            value, effect = text(raw, "value", place) if operator == "Equal" else None, text(raw, "effect", place)
            # Gt and Lt are taken as met: unknown must not count as "cannot land". They cover none of the configured.
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
        return bool(every) and any(
            (any_key, any_effect) in every for any_key in ("", key) for any_effect in ("", effect)
        )

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


def is_lifecycle(key: str) -> bool:
    """Whether a taint's key shows a passing state of the node.

    Kubernetes, cloud providers and autoscalers set such taints. No pod should tolerate them for its GPU, and they are
    no evidence that a pod can never run on the node. Agents of nodes remove `agent-not-ready` once they run
    (kubernetes/kops#15464, kubernetes-sigs/aws-ebs-csi-driver#1949).
    """
    name = key.rpartition("/")[2]
    return key.startswith(_PREFIXES) or key in _KEYS or name == "agent-not-ready" or "maintenance" in name.lower()
