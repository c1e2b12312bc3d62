"""What the scheduler makes of selectors and taints, read as the Kubernetes documentation tells it.

Naive on purpose: one requirement after the other, on the labels of one node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.strategies.selecting import NUMBERS
from webhook.policy.placement.cluster_objects import Node, Taint

Json = dict[str, Any]
Labels = Mapping[str, str]


def meets(expression: Json, value: str | None) -> bool:
    """One requirement on the value of a label, None where the node lacks it."""
    values = expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value in NUMBERS and int(value) > int(values[0])
        case "Lt":
            return value in NUMBERS and int(value) < int(values[0])
    raise AssertionError(expression)


def terms_of(pod: Json) -> list[Json] | None:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms: list[Json] | None = required.get("nodeSelectorTerms")
    return terms


def selects(pod: Json, labels: Labels, name: str) -> bool:
    """Whether node selector and required affinity allow a node."""
    if any(labels.get(key) != value for key, value in pod["spec"]["nodeSelector"].items()):
        return False
    terms = terms_of(pod)
    return terms is None or any(meets_term(term, labels, name) for term in terms)


def meets_term(term: Json, labels: Labels, name: str) -> bool:
    by_labels, by_fields = term.get("matchExpressions", []), term.get("matchFields", [])
    if not by_labels and not by_fields:
        return False
    return all(meets(one, labels.get(one["key"])) for one in by_labels) and all(meets(one, name) for one in by_fields)


def tolerates(toleration: Json, taint: Taint) -> bool:
    effect: str = toleration.get("effect", "")
    key: str = toleration.get("key", "")
    if effect not in ("", taint.effect):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint.key)
    return bool(key == taint.key and toleration.get("value", "") == taint.value)


def admits(pod: Json, node: Node) -> bool:
    bound = pod["spec"].get("nodeName")
    if bound and bound != node.name:
        return False
    effects = {"NoExecute"} if bound else {"NoExecute", "NoSchedule"}
    held = pod["spec"].get("tolerations", [])
    kept_off = [
        taint
        for taint in node.taints
        if taint.effect in effects and not any(tolerates(toleration, taint) for toleration in held)
    ]
    return selects(pod, node.labels, node.name) and not kept_off


def without_passing_states(node: Node) -> Node:
    """The node when it is ready and not cordoned."""
    return replace(node, taints=tuple(each for each in node.taints if not each.key.startswith("node.kubernetes.io/")))
