"""Whether a pod requires a node of its own among the pods of its workload."""

from __future__ import annotations

from webhook.policy.pods.reading import Members, elements, members
from webhook.policy.verdict import Path
from webhook.policy.workloads.extracted import ExtractedPod

_HOSTNAME = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def keeps_apart(extracted: ExtractedPod) -> bool:
    """Whether a required anti-affinity keeps the pods that are made from it on different nodes. Raises MalformedError.

    A label with a prefix, or `job-name`, that the template lacks counts as one that the controller adds to all of them.
    """
    pod = extracted.pod
    path: Path = (*pod.spec_path, "affinity")
    anti = members(pod.members("affinity"), "podAntiAffinity", path)
    if not anti:
        return False
    path = (*path, "podAntiAffinity")
    labels = members(members(extracted.raw, "metadata", extracted.path), "labels", (*extracted.path, "metadata"))
    return any(
        term.get("topologyKey") == _HOSTNAME and _matches(term, labels, (*path, _REQUIRED, index))
        for index, term in enumerate(elements(anti, _REQUIRED, path))
    )


def _matches(term: Members, labels: Members, path: Path) -> bool:
    """Whether the selector of a term matches pods with these labels. Without a selector it matches none."""
    if not isinstance(term.get("labelSelector"), dict):
        return False
    selector = members(term, "labelSelector", path)
    path = (*path, "labelSelector")
    return all(_has(labels, key, (value,)) for key, value in members(selector, "matchLabels", path).items()) and all(
        _meets(labels, one) for one in elements(selector, "matchExpressions", path)
    )


def _meets(labels: Members, expression: Members) -> bool:
    key, operator, values = expression.get("key"), expression.get("operator"), expression.get("values")
    if not isinstance(key, str):
        return False
    if operator == "In" and isinstance(values, list):
        return _has(labels, key, values)
    if operator == "Exists":
        return key in labels or _is_added(key)
    if operator == "NotIn" and isinstance(values, list):
        return labels.get(key) not in values
    return operator == "DoesNotExist" and key not in labels


def _has(labels: Members, key: str, values: tuple[object, ...] | list[object]) -> bool:
    return labels[key] in values if key in labels else _is_added(key)


def _is_added(key: str) -> bool:
    return "/" in key or key == "job-name"
