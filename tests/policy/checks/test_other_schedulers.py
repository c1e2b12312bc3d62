"""Markers of other schedulers lower GPS001 and GPS002 where nothing names the cluster, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.recorded import body
from webhook.admission import Hook, respond
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Severity

Json = dict[str, Any]

MARKERS: dict[str, tuple[str, Json]] = {
    "HAMi by memory": ("HAMi", {"limits": {"nvidia.com/gpumem": 3000}}),
    "HAMi by percentage": ("HAMi", {"limits": {"nvidia.com/gpumem-percentage": 50}}),
    "HAMi by cores in requests": ("HAMi", {"requests": {"nvidia.com/gpucores": 30}}),
    "HAMi by scheduler": ("HAMi", {"schedulerName": "hami-scheduler"}),
    "KAI by fraction": ("KAI Scheduler", {"annotations": {"gpu-fraction": "0.5"}}),
    "KAI by memory": ("KAI Scheduler", {"annotations": {"gpu-memory": "2000"}}),
    "KAI by devices": ("KAI Scheduler", {"annotations": {"gpu-fraction-num-devices": "2"}}),
    "KAI by part of a card": ("KAI Scheduler", {"annotations": {"nvidia.com/container.c0.gpu-memory.limit": "2Gi"}}),
    "KAI by scheduler": ("KAI Scheduler", {"schedulerName": "kai-scheduler"}),
    "Volcano by number": ("Volcano", {"limits": {"volcano.sh/vgpu-number": 1}}),
}
marked = pytest.mark.parametrize(("name", "marker"), MARKERS.values(), ids=MARKERS)


def spec(marker: Json, *amounts: int) -> Json:
    containers = [
        {
            "name": f"c{number}",
            "resources": {
                "limits": {"nvidia.com/gpu": amount, **marker.get("limits", {})},
                "requests": {"nvidia.com/gpu": amount, **marker.get("requests", {})},
            },
        }
        for number, amount in enumerate(amounts)
    ]
    scheduler = {"schedulerName": marker["schedulerName"]} if "schedulerName" in marker else {}
    return {"containers": containers, **scheduler}


def pod(marker: Json, *amounts: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": marker.get("annotations", {})},
        "spec": spec(marker, *amounts),
    }


def found(manifest: Json, *, trusts: bool) -> dict[str, tuple[Severity, str, str]]:
    evaluator = OfflineEvaluator.of(Settings())
    evaluator = evaluator.undescribed() if trusts else evaluator
    findings = evaluator.evaluate(manifest, "", "Pod", RequestContext("default")).findings
    return {one.code: (one.severity, one.message, one.remedy) for one in findings if one.code in ("GPS001", "GPS002")}


@marked
def test_marker_makes_excess_a_warning_where_nothing_names_the_cluster(name: str, marker: Json) -> None:
    severity, message, remedy = found(pod(marker, 2), trusts=True)["GPS001"]
    assert severity is Severity.WARN
    assert message.endswith(f"; the limit is 1 unless {name} shares it")
    assert f"; for a cluster that {name} manages, " in remedy
    severity, message, remedy = found(pod(marker, 1, 1), trusts=True)["GPS002"]
    assert severity is Severity.WARN
    assert message.endswith(f"; the limit is 1 unless {name} shares GPUs")
    assert f"; for a cluster that {name} manages, " in remedy


@marked
@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.VALIDATE])
@pytest.mark.parametrize("amounts", [(2,), (1, 1)])
def test_server_denies_pod_with_marker(hook: Hook, amounts: tuple[int, ...], name: str, marker: Json) -> None:
    review = json.loads(body("create-pod-two-replicas"))
    given = review["request"]["object"]
    given["metadata"]["annotations"] = marker.get("annotations", {})
    given["spec"] |= spec(marker, *amounts)
    assert not respond(json.dumps(review).encode(), hook, OfflineEvaluator.of(Settings())).allowed


@pytest.mark.parametrize(
    ("key", "profile"), [("nvidia.com/container.c0.gpu-memory.limit", "nv-fractions"), ("gpu-memory", "kai")]
)
def test_remedy_names_profile_of_annotation(key: str, profile: str) -> None:
    manifest = pod({"schedulerName": "kai-scheduler", "annotations": {key: "2Gi"}}, 2)
    assert found(manifest, trusts=True)["GPS001"][2].endswith(f"manages, use the profile {profile}")


def test_pod_without_marker_is_denied_where_nothing_names_the_cluster() -> None:
    assert found(pod({}, 2), trusts=True)["GPS001"][0] is Severity.DENY
    assert found(pod({"schedulerName": "volcano"}, 2), trusts=True)["GPS001"][0] is Severity.DENY, (
        "Volcano also schedules pods for NVIDIA's device plugin"
    )


@pytest.mark.parametrize("scheduler", [None, 7, ["kai-scheduler"], {"kai-scheduler": 1}])
def test_scheduler_name_of_another_type_is_no_marker(scheduler: object) -> None:
    assert found(pod({"schedulerName": scheduler}, 2), trusts=True)["GPS001"][0] is Severity.DENY


def test_message_with_longest_names_fits() -> None:
    manifest = pod({"schedulerName": "kai-scheduler"}, 2)
    manifest["spec"]["containers"][0]["name"] = "c" * 63
    assert len(found(manifest, trusts=True)["GPS001"][1]) <= 120


@marked
def test_runtime_class_of_marked_pod_without_request_is_left_alone(name: str, marker: Json) -> None:
    manifest = pod(marker, 1)
    manifest["spec"]["runtimeClassName"] = "nvidia"
    for held in manifest["spec"]["containers"][0]["resources"].values():
        del held["nvidia.com/gpu"]
    assert codes(manifest).isdisjoint({"GPS007"})
    manifest["spec"].pop("schedulerName", None)
    manifest["metadata"]["annotations"] = {}
    manifest["spec"]["containers"][0]["resources"] = {}
    assert "GPS007" in codes(manifest), name


def codes(manifest: Json) -> set[str]:
    return {
        one.code
        for one in OfflineEvaluator.of(Settings()).evaluate(manifest, "", "Pod", RequestContext("default")).findings
    }


def test_remedy_names_scheduler_of_marker_only_where_nothing_describes_the_cluster() -> None:
    fraction = pod({"annotations": {"gpu-fraction": "0.5"}}, 2)
    assert "KAI" not in found(fraction, trusts=False)["GPS001"][2]
    assert "KAI" in found(fraction, trusts=True)["GPS001"][2]
