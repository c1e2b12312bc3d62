"""A field that is misspelt, missing or in the wrong place hides no amount of a GPU resource from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from tests.fixture import Fixture, Json, evaluator_of, load_all
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.pods.gpu_resources import MIG
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.elements import WorkloadPath
from webhook.policy.settings.settings import Settings, Workloads
from webhook.policy.verdict import Finding, Path, Severity, Verdict
from webhook.policy.workloads.kinds import BUILT_IN, group_of
from webhook.policy.workloads.paths import at

GPU = "nvidia.com/gpu"


def renamed(key: str) -> Iterator[str]:
    """A key with one edit: a letter is missing, doubled, added, swapped or in the other case."""
    yield from (key[1:], key[:-1], key[0] + key, f"{key}s", key[1] + key[0] + key[2:], key[0].swapcase() + key[1:])


def misspelt(manifest: Json, path: Path, name: str) -> Json | None:
    """A copy in which the last step of a path has another name; None if there is such a key already."""
    *outer, key = path
    if name == key or name in at(manifest, tuple(outer)):
        return None
    copied = deepcopy(manifest)
    holder: Any = at(copied, tuple(outer))
    members = [(name if own == key else own, value) for own, value in holder.items()]
    holder.clear()
    holder.update(members)
    return copied


def amounts(fixture: Fixture, manifest: Json, evaluator: OfflineEvaluator) -> list[Path]:
    """The paths to the amounts that the checks of the pods read. Raises MalformedError."""
    pods = evaluator.pods(manifest, fixture.group, fixture.object["kind"])
    contexts = [evaluator.context(pod, RequestContext(fixture.namespace)) for pod in pods]
    return [one.path for context in contexts for one in context.requests.named if one.billionths]


def evaluated(fixture: Fixture, manifest: Json, evaluator: OfflineEvaluator) -> Verdict:
    return evaluator.evaluate(manifest, fixture.group, fixture.object["kind"], RequestContext(fixture.namespace))


@cache
def asking() -> list[tuple[Fixture, OfflineEvaluator, list[Path]]]:
    """The fixtures that ask for GPUs and are checked, with the paths to the amounts."""
    found = []
    for fixture in load_all():
        evaluator = evaluator_of(fixture)
        try:
            paths = amounts(fixture, fixture.object, evaluator)
            reason = evaluated(fixture, fixture.object, evaluator).reason
        except MalformedError:
            continue
        is_checked = {"GPS013", "GPS023"} <= evaluator.snapshot.of(fixture.namespace).active
        if paths and is_checked and not reason.startswith("exempt"):
            found.append((fixture, evaluator, paths))
    return found


@pytest.mark.slow
def test_many_fixtures_ask_for_gpus() -> None:
    assert len(asking()) > 500
    assert {(fixture.group, fixture.object["kind"]) for fixture, _, _ in asking()} > BUILT_IN.keys() - UNUSED


UNUSED = {("", "PodTemplate"), ("", "ReplicationController"), ("apps", "DaemonSet"), ("apps", "ReplicaSet")}
"""Built-in kinds without a fixture that asks for GPUs; they have the paths of others."""


def cases() -> Iterator[tuple[Fixture, OfflineEvaluator, list[Path], Path, str]]:
    """Each key on the way to an amount, with each edit, once for each kind."""
    seen: set[tuple[str, str, Path, str]] = set()
    for fixture, evaluator, paths in asking():
        for place in {path[:end] for path in paths for end in range(1, len(path) + 1)}:
            key = place[-1]
            for name in () if isinstance(key, int) or key in BARE or key.startswith(MIG) else renamed(key):
                case = fixture.group, fixture.object["kind"], place, name
                if case not in seen:
                    yield fixture, evaluator, paths, place, name
                seen.add(case)


BARE = ("quantity", "gpu")
"""Amounts of which no key names a resource, in the kinds of Spark, and in own forms of resources. The search knows such
members by their names only.

They are left out, and so are the names of MIG slices: GPS013 knows no typos of how they begin.
"""


@pytest.mark.slow
def test_no_misspelt_field_hides_an_amount() -> None:
    hidden = []
    for fixture, evaluator, paths, place, name in cases():
        wrong = misspelt(fixture.object, place, name)
        try:
            if wrong is None or evaluated(fixture, wrong, evaluator).counts:
                continue
            if len(amounts(fixture, wrong, evaluator)) < len(paths):  # or the key is one that the author chooses
                hidden.append((fixture.name, place, name))
        except MalformedError:
            continue
    assert hidden == []


LIMITS = {"limits": {GPU: 2}}
TRAIN = {"name": "train", "resources": LIMITS}
POD = {"containers": [TRAIN]}
LIMITS_OF_FIRST = "spec.containers[0].resources.limits"


@pytest.mark.parametrize(
    ("kind", "manifest", "place"),
    [
        ("v1 Pod", {"spec": {"container": TRAIN}}, "spec.containers[*].resources.limits"),
        ("v1 Pod", {"spec": {"initContainer": [TRAIN]}}, "spec.initContainers[0].resources.limits"),
        ("v1 Pod", {"containers": [TRAIN]}, LIMITS_OF_FIRST),
        ("v1 Pod", {"metadata": {"labels": {"spec": POD}}}, LIMITS_OF_FIRST),
        (
            "v1 Pod",
            {"spec": {"containers": [TRAIN, {"resource": LIMITS}]}},
            "spec.containers[1].resources.limits",
        ),
        ("v1 Pod", {"spec": {"containers": [{"limits": {GPU: 2}}]}}, LIMITS_OF_FIRST),
        (
            "v1 Pod",
            {"spec": {"containers": [{"resources": {"request": {GPU: 2}}}]}},
            "spec.containers[0].resources.requests",
        ),
        ("v1 Pod", {"spec": {"containers": [{"securityContext": {"resources": LIMITS}}]}}, LIMITS_OF_FIRST),
        ("apps/v1 Deployment", {"spec": {"temlate": {"spec": POD}}}, f"spec.template.{LIMITS_OF_FIRST}"),
        ("apps/v1 Deployment", {"template": {"spec": POD}}, f"spec.template.{LIMITS_OF_FIRST}"),
        (
            "batch/v1 CronJob",
            {"spec": {"jobTemplate": {"spec": POD}}},
            f"spec.jobTemplate.spec.template.{LIMITS_OF_FIRST}",
        ),
        (
            "kubeflow.org/v1 PyTorchJob",
            {"spec": {"pytorchReplicaSpec": {"Worker": {"template": {"spec": POD}}}}},
            f"spec.pytorchReplicaSpecs.*.template.{LIMITS_OF_FIRST}",
        ),
        (
            "sparkoperator.k8s.io/v1beta2 SparkApplication",
            {"spec": {"gpu": {"name": GPU, "quantity": 1}}},
            "spec.driver.gpu.quantity",
        ),
    ],
)
def test_place_that_is_meant_is_named(kind: str, manifest: Json, place: str) -> None:
    found = reported(kind, manifest)
    assert found.message.startswith(f'this amount of "{GPU}" cannot be checked here; did you mean "spec.')
    assert found.remedy == f"move it to {place}"


@pytest.mark.parametrize(
    ("kind", "manifest", "remedy"),
    [
        ("v1 Pod", {"spec": {GPU: 2}}, "move it to spec.containers[*].resources.limits"),
        ("v1 Pod", {"spec": {"x" * 257: [TRAIN]}}, "move it to spec.containers[*].resources.limits"),
        ("ray.io/v1 RayCluster", {"spec": {"resources": LIMITS}}, "add {group: ray.io, kind: RayCluster, "),
    ],
)
def test_no_place_is_named_that_is_far(kind: str, manifest: Json, remedy: str) -> None:
    found = reported(kind, manifest)
    assert "cannot be checked: no path of kind" in found.message
    assert found.remedy.startswith(remedy)


def reported(kind: str, manifest: Json) -> Finding:
    """The only finding of GPS023 about an object."""
    version, name = kind.split()
    verdict = OfflineEvaluator.of(Settings()).evaluate(manifest, group_of(version), name, RequestContext("default"))
    (found,) = [finding for finding in verdict.findings if finding.code == "GPS023"]
    return found


def test_place_of_a_setting_is_named() -> None:
    path = WorkloadPath(group="example.com", kind="Fleet", path="spec.pools[*].resources", holds="resources")
    evaluator = OfflineEvaluator.of(Settings(workloads=Workloads(paths=(path,))))
    manifest = {"spec": {"pools": [{"resource": LIMITS}]}}
    (found,) = evaluator.evaluate(manifest, "example.com", "Fleet", RequestContext("default")).findings
    assert found.remedy == "move it to spec.pools[0].resources.limits"


def test_kind_that_is_meant_is_named_for_field_and_amount() -> None:
    manifest = {"spec": {"template": {"spec": {"container": [TRAIN]}}}}
    findings = (
        OfflineEvaluator.of(Settings()).evaluate(manifest, "apps", "Deploymnet", RequestContext("default")).findings
    )
    assert [one.remedy for one in findings] == ["use apps/v1 Deployment"] * 2


def test_many_amounts_keep_their_remedies_within_the_findings_that_are_kept() -> None:
    manifest = {"spec": {"containers": [{"name": f"c{number}", "resource": LIMITS} for number in range(100)]}}
    verdict = OfflineEvaluator.of(Settings()).evaluate(manifest, "", "Pod", RequestContext("default"))
    assert verdict.counts == {("GPS023", Severity.WARN): 100}
    assert verdict.omitted_by_severity() == {("GPS023", Severity.WARN): 80}
    assert [one.remedy for one in verdict.findings] == [
        f"move it to spec.containers[{number}].resources.limits" for number in range(20)
    ]


def test_exempt_pod_is_left_alone_as_a_whole() -> None:
    template = {"spec": {"os": {"name": "windows"}, "containers": [{"name": "a", "resource": LIMITS}]}}
    evaluator = OfflineEvaluator.of(Settings())
    verdict = evaluator.evaluate({"spec": {"template": template}}, "apps", "Deployment", RequestContext("default"))
    assert (verdict.findings, verdict.reason) == ((), "exempt: the pod runs on Windows")
    beside = evaluator.evaluate(
        {"spec": {"template": template, **POD}}, "apps", "Deployment", RequestContext("default")
    )
    assert [one.path for one in beside.findings] == [("spec", "containers", 0, "resources", "limits", GPU)]
    alone = evaluator.evaluate(template, "", "Pod", RequestContext("default"))
    assert (alone.findings, alone.reason) == ((), "exempt: the pod runs on Windows")


def test_alias_that_is_read_at_one_place_is_reported_at_another() -> None:
    shared = {"limits": {GPU: 1}}
    container = {"name": "a", "resources": shared, "resource": shared}
    verdict = OfflineEvaluator.of(Settings()).evaluate(
        {"spec": {"containers": [container]}}, "", "Pod", RequestContext("default")
    )
    assert [one.path for one in verdict.findings] == [("spec", "containers", 0, "resource", "limits", GPU)]


def test_amount_that_steps_inherit_hides_none() -> None:
    steps = [{"name": name, "image": "i"} for name in "ab"]
    template = {"computeResources": {"limits": {GPU: 1}}}
    spec = {"stepTemplate": template, "steps": steps, "resource": LIMITS}
    verdict = OfflineEvaluator.of(Settings()).evaluate({"spec": spec}, "tekton.dev", "Task", RequestContext("default"))
    assert ("spec", "resource", "limits", GPU) in [one.path for one in verdict.findings if one.code == "GPS023"]


def test_deep_object_is_searched() -> None:
    manifest: Json = {GPU: 2}
    for _ in range(3_000):
        manifest = {"a": manifest}
    (found,) = OfflineEvaluator.of(Settings()).evaluate(manifest, "", "Pod", RequestContext("default")).findings
    assert len(found.path) == 3_001
