"""What dynamic resource allocation changes for a live object."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.objects import pod, workload
from webhook.live.audit.census import Audited
from webhook.live.audit.outcome import Outcome
from webhook.live.plan.dra import DraChecker, Effect, dra_rows
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import DeviceClass, Node
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Decision
from webhook.report.model import Subject

MPS = Node(
    "mps-1",
    {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"},
    (),
    {"nvidia.com/gpu": 4, "nvidia.com/gpu.shared": 4},
)
WHOLE = Node(
    "whole-1", {"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/mps.capable": "false"}, (), {"nvidia.com/gpu": 2}
)
ON_WHOLE: dict[str, Any] = {"nodeSelector": {"nvidia.com/mps.capable": "false"}}


def effect(found: Any, kind: str = "Pod", classes: tuple[DeviceClass, ...] | None = None) -> str:
    checker = DraChecker(Evaluator.of(Settings(), Facts(nodes=(MPS, WHOLE), device_classes=classes)))
    group = "" if kind == "Pod" else "apps"
    (said,) = checker.outcomes(found, group, "v1", kind)
    return said.reason


def asking(resource: str) -> Any:
    made = pod("a")
    made["spec"]["containers"][0]["resources"] = {"limits": {resource: "1"}}
    return made


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod("a"), "loses sharing across pods"),
        (pod("a", **ON_WHOLE), "runs unchanged"),
        (asking("nvidia.com/gpu.shared"), "needs a claim"),
        (asking("nvidia.com/mig-1g.5gb"), "needs a claim"),
        (pod("a", 0), ""),
        (pod("a", namespace="kube-system"), ""),
    ],
    ids=["shared", "whole card", "renamed", "MIG", "no GPU", "exempt"],
)
def test_effect_on_pod(found: Any, expected: str) -> None:
    assert effect(found) == expected


def test_template_decides_for_workload() -> None:
    assert effect(workload("llm"), "Deployment") == "loses sharing across pods"


def test_device_class_serves_name_of_mig_device() -> None:
    classes = (DeviceClass("mig", "nvidia.com/mig-1g.5gb"),)
    assert effect(asking("nvidia.com/mig-1g.5gb"), classes=classes) == "runs unchanged"
    assert effect(pod("a"), classes=classes) == "needs a claim"


def test_malformed_object_has_no_effect() -> None:
    assert effect({"metadata": {"name": "a", "namespace": "b"}, "spec": {"containers": {}}}) == ""


def test_rows_with_most_work_come_first() -> None:
    said = {name: Outcome(Decision.ALLOWED, reason=one.label) for name, one in zip("abc", Effect, strict=True)}
    said["d"] = Outcome(Decision.ALLOWED)
    rows = [Audited(Subject("v1", "Pod", "n", name), 1, "", (one,)) for name, one in said.items()]
    assert [one.row.subject.name for one in dra_rows(rows)] == ["c", "b", "a"]
