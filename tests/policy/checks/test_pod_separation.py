"""Required anti-affinity that gives each pod of a workload a node of its own."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.checks.gps020_ranks import keeps_apart
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Workloads
from webhook.policy.workloads.kinds import extract
from webhook.policy.workloads.presets import kinds_with

KINDS = kinds_with(Workloads())
HOSTNAME = "kubernetes.io/hostname"
LABELS = {"app": "train", "tier": "gpu"}


def apart(anti: Any, labels: Any = LABELS) -> bool:
    template = {"metadata": {"labels": labels}, "spec": {"affinity": {"podAntiAffinity": anti}}}
    (extracted,) = extract(KINDS, {"spec": {"template": template}}, "apps", "StatefulSet")
    return keeps_apart(extracted)


def required(*selectors: Any, key: str = HOSTNAME) -> dict[str, Any]:
    terms = [{"topologyKey": key, "labelSelector": selector} for selector in selectors]
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"matchLabels": {"app": "train"}},
        {"matchLabels": {"app": "train", "jobset.sigs.k8s.io/jobset-name": "x"}},
        {"matchLabels": {"job-name": "x"}},
        expression("app", "In", "serve", "train"),
        expression("batch.kubernetes.io/job-name", "In", "x"),
        expression("app", "Exists"),
        expression("leaderworkerset.sigs.k8s.io/name", "Exists"),
        expression("app", "NotIn", "serve"),
        expression("other", "NotIn", "a"),
        expression("other", "DoesNotExist"),
        {"matchLabels": {"app": "train"}, **expression("tier", "In", "gpu")},
    ],
)
def test_selector_of_own_pods_keeps_apart(selector: dict[str, Any]) -> None:
    assert apart(required(selector))
    assert apart(required({"matchLabels": {"app": "other"}}, selector))
    assert not apart(required(selector, key="topology.kubernetes.io/zone"))


@pytest.mark.parametrize(
    "anti",
    [
        None,
        {},
        required(),
        required(None),
        required("app"),
        required({"matchLabels": {"app": "serve"}}),
        required({"matchLabels": {"other": "train"}}),
        required({"matchLabels": {"app": "train", "tier": "cpu"}}),
        required(expression("app", "In", "serve")),
        required({"matchExpressions": [{"key": "app", "operator": "In"}]}),
        required({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": "a"}]}),
        required({"matchExpressions": [{"key": ["app"], "operator": "Exists"}]}),
        required(expression("other", "Exists")),
        required(expression("app", "NotIn", "train")),
        required(expression("app", "DoesNotExist")),
        required(expression("app", "Gt", "1")),
        {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {}}]},
    ],
)
def test_other_anti_affinity_does_not_keep_apart(anti: Any) -> None:
    assert not apart(anti)


def test_pod_without_labels_is_kept_apart_by_labels_of_controllers_only() -> None:
    assert apart(required({"matchLabels": {"training.kubeflow.org/job-name": "x"}}), None)
    assert not apart(required({"matchLabels": {"app": "train"}}), None)


@pytest.mark.parametrize(
    "anti",
    [
        [],
        {"requiredDuringSchedulingIgnoredDuringExecution": {}},
        {"requiredDuringSchedulingIgnoredDuringExecution": [1]},
        required({"matchLabels": []}),
        required({"matchExpressions": {}}),
    ],
)
def test_malformed_anti_affinity(anti: Any) -> None:
    with pytest.raises(MalformedError):
        apart(anti)
