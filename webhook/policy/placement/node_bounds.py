"""How much is kept of one node: the node's own agent writes labels and resources, and must not cost without limit.

A GPU node has 60 to 100 labels, a few taints, and at most 30 resources. Everything beyond the bounds is unknown: the
node's `incomplete` names it. The entries that decide where a pod can land are kept first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.policy.placement.facts import RESTRICTED, label_kind
from webhook.policy.placement.node_classes import CONFIG_LABEL, DISCOVERED, DOMAIN
from webhook.policy.pods.gpu_resources import CARD, MIG

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node, NodePart, Taint
    from webhook.policy.settings.formats import SomeText, Units
    from webhook.policy.settings.settings import Settings


_HOSTNAME: Final = "kubernetes.io/hostname"

_MOST_CONFIGURED: Final = 64
"""Labels that settings name, at most: a kubelet can write all of them, and other labels need room as well."""


class Decisive(NamedTuple):
    """The kinds of labels and the names of resources that are kept first, in this order.

    They decide where a pod can land and how the node shares its cards. A kubelet chooses most labels of its node. It
    may not change those of `node-restriction.kubernetes.io/`, which isolate workloads (kubernetes/kubernetes
    plugin/pkg/admission/noderestriction), so it must not push them out either.
    """

    labels: tuple[str, ...] = (RESTRICTED, _HOSTNAME, CONFIG_LABEL, *sorted(DISCOVERED))
    resources: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Settings) -> Decisive:
        """The decisive labels and resources of settings: labels of the classes come before labels of node groups."""
        placement, always = settings.placement, Decisive().labels
        of_classes = sorted({**placement.mps_labels, **placement.time_slicing_labels})
        of_groups = sorted(chain.from_iterable(group.labels for group in placement.node_groups))
        configured = dict.fromkeys(map(label_kind, chain(of_classes, of_groups)))
        new = [key for key in configured if key not in always]
        return cls((*always, *new[:_MOST_CONFIGURED]), frozenset(resource.name for resource in settings.resources))


ALWAYS: Final = Decisive()
"""The labels and resources that are decisive with any settings."""


MOST: Final[Mapping[NodePart, int]] = {"labels": 256, "taints": 64, "resources": 64}
"""Entries that are kept of one node, by part."""

LONGEST_KEY: Final = 253 + 1 + 63
"""Characters of a key: subdomain, slash and name (kubernetes apimachinery pkg/util/validation `IsQualifiedName`)."""

LONGEST_VALUE: Final = 63
"""Characters of the value of a label or taint (`IsValidLabelValue` there)."""

_FEATURES: Final = "feature.node.kubernetes.io/"
"""Labels about processors, devices and kernels, of which node feature discovery may write hundreds."""


def bounded(node: Node, decisive: Decisive = ALWAYS) -> Node:
    """The node with as much as is kept of it."""
    labels = {key: value for key, value in node.labels.items() if _fits(key, value)}
    if len(labels) > MOST["labels"]:  # decisive labels, labels of GPUs, others, and last those of feature discovery
        ranks, last = {each: rank for rank, each in enumerate(decisive.labels)}, len(decisive.labels)
        first = nsmallest(
            MOST["labels"],
            labels,
            lambda key: (ranks.get(label_kind(key), last), not key.startswith(DOMAIN), key.startswith(_FEATURES), key),
        )
        labels = {key: labels[key] for key in first}
    taints = [taint for taint in node.taints if _fits(taint.key, taint.value)]
    if len(taints) > MOST["taints"]:  # without the others, a node seems to take more pods than it does
        taints = nsmallest(MOST["taints"], taints, taint_order)
    names = [name for name in node.resources if len(name) <= LONGEST_KEY]
    if len(names) > MOST["resources"]:
        names = nsmallest(
            MOST["resources"],
            names,
            lambda name: (name not in decisive.resources, not name.startswith((CARD, MIG)), name),
        )
    resources = {name: node.resources[name] for name in names}
    return cut(node, labels, taints, resources, decisive)


def taint_order(taint: Taint) -> tuple[str, str, str]:
    """The order of taints in facts: findings name the first one, and are the same with a snapshot."""
    return taint.key, taint.effect, taint.value


def cut(
    node: Node,
    labels: Mapping[str, str],
    taints: Sequence[Taint],
    resources: Mapping[SomeText, Units],
    decisive: Decisive = ALWAYS,
) -> Node:
    """The node with these of its labels, taints and resources alone, marked as incomplete where it has others."""
    parts: tuple[tuple[Sized, Sized], ...] = (node.labels, labels), (node.taints, taints), (node.resources, resources)
    missing = {name for name, (there, kept) in zip(MOST, parts, strict=True) if len(kept) < len(there)}
    if not missing:
        return node
    incomplete = tuple(part for part in MOST if part in missing or part in node.incomplete)
    certain = node.certain_labels
    if "labels" in missing:
        certain, lost = decisive.labels, {label_kind(key) for key in node.labels if key not in labels}
        if "labels" in node.incomplete:
            certain = tuple(each for each in certain if each in node.certain_labels)
        if not lost.isdisjoint(certain):  # else it is the same object for all nodes
            certain = tuple(each for each in certain if each not in lost)
    return replace(
        node, labels=labels, taints=tuple(taints), resources=resources, incomplete=incomplete, certain_labels=certain
    )


def _fits(key: str, value: str) -> bool:
    return len(key) <= LONGEST_KEY and len(value) <= LONGEST_VALUE
