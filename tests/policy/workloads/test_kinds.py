"""Where kinds hold pods."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.elements import WorkloadPath
from webhook.policy.settings.settings import PresetName, Workloads
from webhook.policy.workloads.kinds import (
    BUILT_IN,
    MOST_PODS,
    QUEUE_LABEL,
    Deferral,
    Kind,
    TooManyPodsError,
    extract,
    group_of,
    with_paths,
)
from webhook.policy.workloads.paths import EVERY, MEMBER, PodPath, unknown, written
from webhook.policy.workloads.presets import PRESETS, Preset, kinds_with

SETS = with_paths(BUILT_IN, [WorkloadPath("Set", "spec.jobs[*].template", "example.com")])
MAPS = with_paths(BUILT_IN, [WorkloadPath("Map", "spec.roles.*.template", "example.com")])


def test_built_in_kinds_match_contract() -> None:
    kinds = "Pod PodTemplate ReplicationController ReplicaSet Deployment StatefulSet DaemonSet Job CronJob"
    assert {kind for _, kind in BUILT_IN} == set(kinds.split())


def test_resource_of_kind_is_its_plural_in_lower_case() -> None:
    assert BUILT_IN["apps", "StatefulSet"].resource == "statefulsets"


def test_pods_per_object_are_limited() -> None:
    def pods(count: int) -> int:
        return len(extract(SETS, {"spec": {"jobs": [{"template": {}}] * count}}, "example.com", "Set"))

    assert pods(MOST_PODS) == MOST_PODS
    with pytest.raises(TooManyPodsError, match=str(MOST_PODS)) as error:
        pods(MOST_PODS + 1)
    assert error.value.path == ("spec", "jobs", MOST_PODS, "template")


def test_paths_of_presets_are_written_as_settings() -> None:
    paths = [path for preset in PRESETS for kind in preset.kinds for path in kind.paths]
    assert [written(path.steps) for path in paths] == [path.path for path in paths]
    assert written(("spec", "steps", EVERY, EVERY, "inline")) == "spec.steps[*][*].inline"
    assert written(("spec", "tfReplicaSpecs", MEMBER, "template")) == "spec.tfReplicaSpecs.*.template"


def test_custom_paths_extend_built_in_kind() -> None:
    paths = [WorkloadPath("Deployment", "spec.more[*]", "apps", "podSpec"), WorkloadPath("X", "spec")]
    kinds = with_paths(BUILT_IN, paths)
    own = BUILT_IN["apps", "Deployment"].paths
    assert kinds["apps", "Deployment"].paths == (*own, PodPath("spec.more[*]", "podSpec", count=unknown))
    assert kinds["", "X"].paths == (PodPath("spec", count=unknown),)
    assert ("", "X") not in BUILT_IN


@pytest.mark.parametrize(
    ("manifest", "paths"),
    [
        ({}, []),
        ({"spec": None}, []),
        ({"spec": {"jobs": None}}, []),
        ({"spec": {"jobs": []}}, []),
        ({"spec": {"jobs": [{"template": {}}, {}, None, {"template": None}, {"template": {}}]}}, [0, 4]),
    ],
)
def test_list_step_finds_every_element(manifest: dict[str, Any], paths: list[int]) -> None:
    held = extract(SETS, manifest, "example.com", "Set")
    assert [one.path for one in held] == [("spec", "jobs", index, "template") for index in paths]


def test_mapping_step_finds_every_member() -> None:
    head: dict[str, Any] = {"template": {"spec": {}}}
    manifest: dict[str, Any] = {"spec": {"roles": {"head": head, "w~/": {"template": {}}, "none": None}}}
    held = extract(MAPS, manifest, "example.com", "Map")
    assert [one.path for one in held] == [("spec", "roles", name, "template") for name in ("head", "w~/")]
    assert held[0].raw is head["template"]


@pytest.mark.parametrize(
    ("manifest", "path", "says"),
    [
        ({"spec": []}, ("spec",), "expected a mapping, found a list"),
        ({"spec": {"jobs": "all"}}, ("spec", "jobs"), "expected a list, found text"),
        ({"spec": {"jobs": [1]}}, ("spec", "jobs", 0), "expected a mapping, found a number"),
        (
            {"spec": {"jobs": [{"template": True}]}},
            ("spec", "jobs", 0, "template"),
            "expected a mapping, found a boolean",
        ),
    ],
)
def test_wrong_structure_is_malformed(manifest: dict[str, Any], path: tuple[str | int, ...], says: str) -> None:
    with pytest.raises(MalformedError, match=says) as malformed:
        extract(SETS, manifest, "example.com", "Set")
    assert malformed.value.path == path


@pytest.mark.parametrize(
    ("group", "kind", "manifest", "suspended"),
    [
        ("batch", "Job", {"spec": {"suspend": True}}, True),
        ("batch", "Job", {"spec": {"suspend": "true"}}, False),
        ("batch", "Job", {}, False),
        ("batch", "CronJob", {"spec": {"suspend": True}}, False),
        ("batch", "CronJob", {"spec": {"jobTemplate": {"spec": {"suspend": True}}}}, True),
        ("kubeflow.org", "PyTorchJob", {"spec": {"runPolicy": {"suspend": True}}}, True),
        ("kubeflow.org", "PyTorchJob", {"spec": {"runPolicy": []}}, False),
        ("apps", "Deployment", {"spec": {"paused": True}}, False),
        ("example.com", "CronJob", {"spec": {"suspend": True}}, True),
        ("example.com", "CronJob", {"spec": {"jobTemplate": {"spec": {"suspend": True}}}}, False),
    ],
)
def test_suspended_by_group_and_kind(group: str, kind: str, manifest: dict[str, Any], suspended: bool) -> None:
    known = kinds_with(Workloads()).get((group, kind)) or Kind(group, kind, ())
    assert (known.deferral(manifest) is Deferral.SUSPENDED) is suspended


@pytest.mark.parametrize(("api_version", "group"), [("v1", ""), ("apps/v1", "apps"), ("a.b/c/v1", "a.b/c"), ("", "")])
def test_group_of_api_version(api_version: str, group: str) -> None:
    assert group_of(api_version) == group


@pytest.mark.parametrize(("group", "kind"), [("", "ConfigMap"), ("example.com", "Pod"), ("example.com", "Deployment")])
def test_kind_without_paths_holds_no_pods(group: str, kind: str) -> None:
    manifest = {"spec": {"containers": [{"name": "c"}], "template": {"spec": {}}}}
    assert extract(BUILT_IN, manifest, group, kind) == []


@pytest.mark.parametrize(
    ("group", "kind"), [("", "Pod"), ("batch", "Job"), ("apps", "Deployment"), ("example.com", "Set")]
)
@pytest.mark.parametrize(
    ("labels", "deferral"), [({QUEUE_LABEL: "team-a"}, Deferral.QUEUED), ({QUEUE_LABEL: ""}, None)]
)
def test_queue_label_defers_pods(group: str, kind: str, labels: dict[str, str], deferral: Deferral | None) -> None:
    manifest = {"metadata": {"labels": labels}, "spec": {"template": {"spec": {}}, "jobs": [{"template": {}}]}}
    (found,) = extract(SETS, manifest, group, kind)
    assert found.deferral is (Deferral.DEFAULT if kind == "Job" and deferral is None else deferral)


def test_presets_are_those_of_settings() -> None:
    assert {"all", *(preset.name for preset in PRESETS)} == set(get_args(PresetName))


def test_presets_name_each_kind_once() -> None:
    names = [(kind.group, kind.kind) for preset in PRESETS for kind in preset.kinds]
    assert len(names) == len(set(names))
    assert not set(names) & set(BUILT_IN)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_settings_select_presets(preset: Preset) -> None:
    names = {(kind.group, kind.kind) for kind in preset.kinds}
    assert kinds_with(Workloads(presets=(preset.name,))).keys() == BUILT_IN.keys() | names
    assert names < kinds_with(Workloads()).keys()
    assert kinds_with(Workloads(presets=())).keys() == BUILT_IN.keys()


def test_path_of_preset_is_not_added_again() -> None:
    path = WorkloadPath("JobSet", "spec.replicatedJobs[*].template.spec.template", "jobset.x-k8s.io")
    assert kinds_with(Workloads(paths=(path,))) == kinds_with(Workloads())
