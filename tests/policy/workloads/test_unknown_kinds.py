"""Kinds without paths: the kind of which a name is a typo, the preset that is left out, and placeholders."""

from __future__ import annotations

import pytest

from tests.fixture import load_all
from webhook.dryrun.search.evaluator import OfflineEvaluator, Unknown, by_folded_name, unknown
from webhook.dryrun.search.mentions import GpuNames, find_mentions
from webhook.dryrun.search.without_pods import RENDERED, RUNS_NO_PODS
from webhook.policy.checks import LIMITING
from webhook.policy.context import RequestContext
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.elements import WorkloadPath
from webhook.policy.settings.settings import Settings, Workloads
from webhook.policy.workloads.presets import PRESETS, Preset, kinds_with

KINDS = kinds_with(Workloads())


@pytest.mark.parametrize(
    ("group", "kind", "meant"),
    [
        ("ray.io", "RayServce", "ray.io/v1 RayService"),
        ("ray.io", "rayservice", "ray.io/v1 RayService"),
        ("apps", "Deployments", "apps/v1 Deployment"),
        ("", "pod", "v1 Pod"),
        ("extensions", "Deployment", "apps/v1 Deployment"),
        ("apps", "Job", "batch/v1 Job"),
        ("rayio", "RayCluster", "ray.io/v1 RayCluster"),
        ("app", "Deployment", "apps/v1 Deployment"),
    ],
)
def test_typo_names_kind(group: str, kind: str, meant: str) -> None:
    assert unknown(group, kind, by_folded_name(KINDS)).meant == meant


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("", "ConfigMap"),
        ("apps", "ControllerRevision"),
        ("example.com", "Deployment"),
        ("example.com", "JobSet"),
        ("kubeflow.org", "JobSet"),
        ("apps.kruise.io", "StatefulSet"),
        ("jobset.x-k8s.io", "Configuration"),
        ("argoproj.io", "Service"),
        ("ray.io", "RaySrvce"),
        ("x" * 10_000, "Deployment"),
        ("apps", "x" * 10_000),
    ],
)
def test_other_kind_is_no_typo(group: str, kind: str) -> None:
    assert unknown(group, kind, by_folded_name(KINDS)) == Unknown()


def test_kind_of_settings_is_meant() -> None:
    kinds = kinds_with(Workloads(paths=(WorkloadPath("Fleet", "spec.template", "example.com"),)))
    assert unknown("example.com", "Flet", by_folded_name(kinds)).meant == "example.com/v1 Fleet"


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_preset_left_out_is_named(preset: Preset) -> None:
    others = tuple(other.name for other in PRESETS if other is not preset)
    kinds = kinds_with(Workloads(presets=others))
    assert {unknown(kind.group, kind.kind, by_folded_name(kinds)).remedy for kind in preset.kinds} == {
        f"add {preset.name} to workloads.presets"
    }


@pytest.mark.parametrize(("group", "kind"), [("${GROUP}", "Job"), ("batch", "{{ .Values.kind }}"), ("", "$KIND")])
def test_placeholder_is_named(group: str, kind: str) -> None:
    assert unknown(group, kind, by_folded_name(KINDS)).is_placeholder


def test_kinds_without_pods_have_no_paths() -> None:
    assert not {*RUNS_NO_PODS, *RENDERED} & KINDS.keys()
    assert not RUNS_NO_PODS.keys() & RENDERED.keys()


def test_every_reason_has_a_fixture_with_an_amount_that_is_not_reported() -> None:
    names = GpuNames(GpuResources(Settings().resources))
    reasons = {
        RUNS_NO_PODS.get((one.group, one.object["kind"]))
        for one in load_all()
        if not one.expect.findings and any(find_mentions(one.object, names, ()))
    }
    assert reasons - {None} == set(RUNS_NO_PODS.values())


CREATED = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}


@pytest.mark.parametrize("member", ["schedulingPolicy", "batchSchedulerOptions", "ignoreDifferences"])
def test_sum_and_comparison_are_no_request(member: str) -> None:
    evaluator = OfflineEvaluator.of(Settings())
    held = {"spec": {member: {"resources": {"nvidia.com/gpu": 2}, "text": "nvidia.com/gpu: 2"}}}
    assert evaluator.evaluate(held, "example.com", "Fleet", RequestContext("default")).findings == ()
    hidden = {"spec": {member: CREATED["spec"]}}
    assert [
        one.code for one in evaluator.evaluate(hidden, "example.com", "Fleet", RequestContext("default")).findings
    ] == ["GPS001"]


@pytest.mark.parametrize(("group", "kind"), [one for one in RUNS_NO_PODS if one not in LIMITING])
def test_kind_without_pods_may_name_an_amount(group: str, kind: str) -> None:
    evaluator = OfflineEvaluator.of(Settings())
    verdict = evaluator.evaluate({"spec": {"nvidia.com/gpu": 2}}, group, kind, RequestContext("default"))
    assert (verdict.is_skipped, verdict.findings) == (True, ())
    assert verdict.reason == f"skipped: {RUNS_NO_PODS[group, kind]} and runs no pods"


@pytest.mark.parametrize(
    ("group", "kind", "reason"),
    [
        ("apps.nvidia.com", "NIMCache", "the job of the NIM operator asks for cpu and memory only"),
        ("apps.nvidia.com", "NIMPipeline", "the NIM operator asks for the GPUs of the model's profile"),
        ("kaito.sh", "Workspace", "KAITO asks for the GPUs of the instance type or of the nodes"),
        ("kubeai.org", "Model", "KubeAI asks for what the resource profile names"),
    ],
)
def test_kind_of_an_operator_says_who_decides_on_its_gpus(group: str, kind: str, reason: str) -> None:
    verdict = OfflineEvaluator.of(Settings()).evaluate(
        {"spec": {"replicas": 1}}, group, kind, RequestContext("default")
    )
    assert verdict.reason == f"skipped: it asks for no GPU resource; {reason}"
