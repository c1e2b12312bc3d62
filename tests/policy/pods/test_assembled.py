"""Pods that controllers assemble: where their fields stand, what they inherit, and how large they may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.linear import Work, assert_linear
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Injections, Settings, SteeringInjection, Users
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import MOST_SHARED, QUEUE_LABEL, Deferral, TooManyPodsError

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
EVALUATOR = OfflineEvaluator.of(Settings())
ARGO, KSERVE, SPARK, TEKTON = "argoproj.io", "serving.kserve.io", "sparkoperator.k8s.io", "tekton.dev"
TRAINER = "trainer.kubeflow.org"


def limits(amount: object = 1) -> Json:
    return {"limits": {GPU: amount}}


STEP = {"computeResources": limits()}


def paths(group: str, kind: str, spec: Json, evaluator: OfflineEvaluator = EVALUATOR) -> list[tuple[str, Path]]:
    """The codes and paths of the findings on the server."""
    verdict = evaluator.evaluate({"spec": spec}, group, kind, RequestContext("team-a", hostpath=True, groups=()))
    return [(found.code, found.path) for found in verdict.findings]


MALFORMED: list[tuple[str, str, Json, Path, str]] = [
    (KSERVE, "InferenceService", {"predictor": {"model": "big"}}, ("predictor", "model"), "a mapping, found text"),
    (KSERVE, "InferenceService", {"predictor": {"containers": {}}}, ("predictor", "containers"), "a list"),
    (
        KSERVE,
        "InferenceService",
        {"predictor": {"containers": [None]}},
        ("predictor", "containers", 0),
        "a mapping, found null",
    ),
    (
        KSERVE,
        "InferenceService",
        {"predictor": {"triton": {"resources": {"limits": [1]}}}},
        ("predictor", "triton", "resources", "limits"),
        "a mapping, found a list",
    ),
    (ARGO, "Workflow", {"templates": [{"containerSet": []}]}, ("templates", 0, "containerSet"), "a mapping"),
    (ARGO, "Workflow", {"templates": [{"sidecars": {}}]}, ("templates", 0, "sidecars"), "a list, found a mapping"),
    (
        ARGO,
        "Workflow",
        {"nodeSelector": "gpu", "templates": [{"container": {"resources": limits()}}]},
        ("nodeSelector",),
        "a mapping, found text",
    ),
    (
        ARGO,
        "Workflow",
        {"tolerations": [1], "templates": [{"affinity": {"x": 1}, "container": {"resources": limits()}}]},
        ("tolerations", 0),
        "a mapping, found a number",
    ),
    (TEKTON, "Task", {"steps": ["run"]}, ("steps", 0), "a mapping, found text"),
    (
        TEKTON,
        "TaskRun",
        {"podTemplate": "gpu", "taskSpec": {"steps": [STEP]}},
        ("podTemplate",),
        "a mapping, found text",
    ),
    (
        TEKTON,
        "TaskRun",
        {"podTemplate": {"tolerations": {"a": 1}}, "taskSpec": {"steps": [STEP]}},
        ("podTemplate", "tolerations"),
        "a list, found a mapping",
    ),
    (SPARK, "SparkApplication", {"driver": {"gpu": 1}}, ("driver", "gpu"), "a mapping, found a number"),
    (SPARK, "SparkApplication", {"driver": {"gpu": {"name": 1}}}, ("driver", "gpu", "name"), "text, found a number"),
]


@pytest.mark.parametrize(("group", "kind", "spec", "path", "says"), MALFORMED)
def test_wrong_structure_is_malformed_where_it_stands(group: str, kind: str, spec: Json, path: Path, says: str) -> None:
    with pytest.raises(MalformedError, match=f"expected {says}") as malformed:
        paths(group, kind, spec)
    assert malformed.value.path == ("spec", *path)


@pytest.mark.parametrize("empty", [None, {}, []])
def test_absent_parts_hold_no_containers(empty: object) -> None:
    for group, kind, spec in (
        (KSERVE, "InferenceService", {"predictor": {"containers": None, "model": None, "nodeSelector": empty}}),
        (ARGO, "Workflow", {"templates": [{"container": None, "affinity": None}], "nodeSelector": empty}),
        (TEKTON, "TaskRun", {"taskSpec": {"steps": None}, "podTemplate": None}),
        (SPARK, "SparkApplication", {"driver": {"gpu": None, "template": None}, "executor": None}),
        (SPARK, "SparkApplication", {"driver": {"gpu": {"name": GPU}}}),
    ):
        assert paths(group, kind, spec) == []


FIELDS: list[tuple[Json, str, Path]] = [
    ({"hostPID": True}, "GPS009", ("hostPID",)),
    ({"hostIPC": True}, "GPS009", ("hostIPC",)),
    ({"hostUsers": False}, "GPS009", ("hostUsers",)),
    ({"runtimeClassName": "gvisor"}, "GPS011", ("runtimeClassName",)),
]


@pytest.mark.parametrize(("field", "code", "path"), FIELDS)
def test_finding_is_at_the_mapping_that_holds_the_field(field: Json, code: str, path: Path) -> None:
    template: Json = {"container": {"resources": limits()}}
    assert paths(ARGO, "Workflow", {**field, "templates": [template]}) == [(code, ("spec", *path))]
    assert paths(ARGO, "Workflow", {"templates": [{**template, **field}]}) == [(code, ("spec", "templates", 0, *path))]


def test_users_of_the_pod_are_read_where_they_stand() -> None:
    templates = [
        {
            "script": {"resources": limits(), "securityContext": {"runAsUser": 5}},
            "sidecars": [{"name": "s", "resources": {"limits": {"nvidia.com/gpu.shared": 1}}}],
        }
    ]
    found = paths(ARGO, "Workflow", {"securityContext": {"runAsUser": 7}, "templates": templates})
    assert ("GPS008", ("spec", "securityContext", "runAsUser")) in found


def test_missing_host_ipc_is_reported_only_where_the_object_can_set_it() -> None:
    evaluator = OfflineEvaluator.of(Settings(users=Users(host_ipc="required")))
    predictor = {"predictor": {"model": {"resources": limits()}}}
    assert paths(KSERVE, "InferenceService", predictor, evaluator) == [("GPS009", ("spec", "predictor"))]
    assert paths(ARGO, "Workflow", {"templates": [{"container": {"resources": limits()}}]}, evaluator) == []


def test_unmet_selector_is_reported_where_it_stands() -> None:
    facts = Facts(nodes=(Node("a", {"pool": "b"}, (), {GPU: 1}),))
    evaluator = OfflineEvaluator.of(Settings(), facts)
    spec = {"nodeSelector": {"pool": "a"}, "templates": [{"tolerations": [], "container": {"resources": limits()}}]}
    assert paths(ARGO, "Workflow", spec, evaluator) == [("GPS014", ("spec", "nodeSelector", "pool"))]


def counts(group: str, kind: str, spec: Json) -> list[int | None]:
    return [extracted.count for extracted in EVALUATOR.pods({"spec": spec}, group, kind)]


def test_workers_of_inference_service_are_not_stated() -> None:
    spec = {"predictor": {"model": {}, "workerSpec": {"pipelineParallelSize": 2, "tensorParallelSize": 1}}}
    assert counts(KSERVE, "InferenceService", spec) == [1, None]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"executor": {}}, [1]),
        ({"executor": {"instances": 3, "template": {}}}, [3, 3]),
        ({"executor": {"instances": 3}, "dynamicAllocation": {"enabled": True}}, [None]),
        ({"executor": {"instances": 3}, "dynamicAllocation": {"enabled": False}}, [3]),
        ({"executor": {"instances": "3"}}, [None]),
        ({"driver": {"instances": 3}}, [1]),
    ],
)
def test_executors_are_counted_by_their_instances(spec: Json, expected: list[int | None]) -> None:
    assert counts(SPARK, "SparkApplication", spec) == expected
    assert counts(SPARK, "ScheduledSparkApplication", {"template": spec}) == expected


@pytest.mark.parametrize(
    ("group", "kind", "spec", "deferral"),
    [
        (TEKTON, "PipelineRun", {"taskRunSpecs": [None, {"podTemplate": None}]}, None),
        (TEKTON, "PipelineRun", {"taskRunSpecs": [{"podTemplate": {"nodeSelector": {}}}]}, Deferral.USED_ELSEWHERE),
        (TEKTON, "PipelineRun", {"taskRunSpecs": "all"}, None),
        (ARGO, "Workflow", {"suspend": True}, Deferral.SUSPENDED),
        (ARGO, "CronWorkflow", {"suspend": True}, None),
        (KSERVE, "LLMInferenceService", {"baseRefs": [{"name": "base"}]}, None),
        (TRAINER, "TrainJob", {"runtimePatches": []}, None),
        (TRAINER, "TrainJob", {"runtimePatches": [{}]}, Deferral.OPEN),
        (TRAINER, "TrainJob", {"podTemplateOverrides": [{}]}, Deferral.OPEN),
        (TRAINER, "TrainJob", {"podSpecOverrides": [{}]}, Deferral.OPEN),
        (TRAINER, "TrainingRuntime", {"suspend": True}, None),
        (ARGO, "Workflow", {"templates": [None, {"podSpecPatch": ""}], "templateDefaults": {}}, None),
        (ARGO, "Workflow", {"templates": "all"}, None),
        (ARGO, "Workflow", {"templates": [{"podSpecPatch": "{}"}]}, Deferral.OPEN),
        (ARGO, "Workflow", {"templateDefaults": {"podSpecPatch": "{}"}}, Deferral.OPEN),
        (ARGO, "CronWorkflow", {"workflowSpec": {"podSpecPatch": "{}"}}, Deferral.OPEN),
        (SPARK, "SparkApplication", {"sparkConf": {}, "driver": {"template": {}}}, None),
        (SPARK, "SparkApplication", {"sparkConf": {"spark.kubernetes.node.selector.pool": "a"}}, Deferral.OPEN),
        (SPARK, "SparkApplication", {"nodeSelector": {"a": "b"}, "driver": {"template": {"spec": {}}}}, Deferral.OPEN),
        (SPARK, "SparkApplication", {"executor": {"affinity": {"a": {}}, "template": {"spec": {}}}}, Deferral.OPEN),
        (
            SPARK,
            "ScheduledSparkApplication",
            {"template": {"sparkConf": {"spark.kubernetes.executor.podTemplateFile": "a.yaml"}}},
            Deferral.OPEN,
        ),
        (SPARK, "ScheduledSparkApplication", {"suspend": True}, None),
        (SPARK, "ScheduledSparkApplication", {"template": {"suspend": True}}, Deferral.SUSPENDED),
    ],
)
def test_nodes_are_open_where_another_object_chooses_them(
    group: str, kind: str, spec: Json, deferral: Deferral | None
) -> None:
    assert EVALUATOR.kinds[group, kind].deferral({"spec": spec}) is deferral


@pytest.mark.parametrize(
    ("group", "kind", "deferral"),
    [
        (ARGO, "Workflow", None),
        (ARGO, "Rollout", None),
        ("serving.knative.dev", "Service", None),
        (KSERVE, "InferenceService", Deferral.QUEUED),
        (TEKTON, "TaskRun", Deferral.QUEUED),
    ],
)
def test_label_of_a_queue_counts_where_it_reaches_the_pods(group: str, kind: str, deferral: Deferral | None) -> None:
    manifest = {"metadata": {"labels": {QUEUE_LABEL: "team-a"}}}
    assert EVALUATOR.kinds[group, kind].deferral(manifest) is deferral


def sharing(templates: int, values: int) -> Json:
    """A workflow whose affinity has a number of values, so that all templates share it."""
    expression = {"key": "k", "operator": "NotIn", "values": [f"v{number}" for number in range(values)]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"affinity": affinity, "templates": [{"container": {"resources": limits()}}] * templates}


def test_fields_that_pods_share_are_bounded() -> None:
    size = 10 + 54  # mappings, lists and texts around the values, and the values
    most = MOST_SHARED // size
    assert most * size == MOST_SHARED
    assert paths(ARGO, "Workflow", sharing(most, 54)) == []
    with pytest.raises(TooManyPodsError, match=str(MOST_SHARED)) as error:
        paths(ARGO, "Workflow", sharing(most + 1, 54))
    assert error.value.path == ("spec", "templates", most)


def test_restart_policy_makes_only_an_init_container_a_sidecar() -> None:
    held = {"name": "a", "restartPolicy": "Always", "resources": limits(2)}
    template = {"initContainers": [held], "sidecars": [held]}
    verdict = EVALUATOR.evaluate(
        {"spec": {"templates": [template]}}, ARGO, "Workflow", RequestContext("team-a", groups=())
    )
    found = [one.message.partition(" asks")[0] for one in verdict.findings if one.code == "GPS001"]
    assert found == ['sidecar "a"', 'container "a"']


@pytest.mark.parametrize(("name", "expected"), [("$(params.class)", []), ("absent", ["GPS011"])])
def test_runtime_class_with_a_placeholder_is_unknown(name: str, expected: list[str]) -> None:
    evaluator = OfflineEvaluator.of(Settings(), Facts(runtime_classes=()))
    run = {"podTemplate": {"runtimeClassName": name}, "taskSpec": {"steps": [STEP]}}
    assert [code for code, _ in paths(TEKTON, "TaskRun", run, evaluator)] == expected


@pytest.mark.parametrize("selector", [{"zone": "$" * 512 * 100}, {"$" * 512 * 100: "a"}])
def test_texts_that_pods_share_are_bounded(selector: Json) -> None:
    size = 2 + 100  # the mapping, its value, and the further parts of the text
    template = {"container": {"resources": limits()}}
    assert paths(ARGO, "Workflow", {"nodeSelector": selector, "templates": [template] * (MOST_SHARED // size)}) == []
    with pytest.raises(TooManyPodsError):
        paths(ARGO, "Workflow", {"nodeSelector": selector, "templates": [template] * (MOST_SHARED // size + 1)})


def test_large_fields_of_each_pod_are_not_shared() -> None:
    own = sharing(1, 2000)["affinity"]
    template = {"affinity": own, "container": {"resources": limits()}}
    assert paths(ARGO, "Workflow", {"templates": [template] * 100}) == []


SHAPES: dict[str, tuple[str, str, Callable[[int], Json]]] = {
    "templates below junk": (
        ARGO,
        "Workflow",
        lambda n: {
            **{f"k{number}": 1 for number in range(n)},
            "templates": [{"container": {"resources": limits(2)}}] * min(n, 4096),
        },
    ),
    "steps": (
        TEKTON,
        "TaskRun",
        lambda n: {
            "taskSpec": {
                "steps": [STEP] * n,
            }
        },
    ),
    "pod templates of tasks": (
        TEKTON,
        "PipelineRun",
        lambda n: {
            "taskRunSpecs": [{"podTemplate": {"hostUsers": True}}] * min(n, 4096),
            "pipelineSpec": {"tasks": [{"taskSpec": {"steps": [STEP]}}]},
        },
    ),
}
"""Members that grow together; `tests/policy/test_growth.py` grows each alone."""


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_cpu_time_is_linear_in_assembled_pods(shape: str) -> None:
    group, kind, spec = SHAPES[shape]

    def prepared(count: int) -> Work:
        held = spec(count)
        return lambda: paths(group, kind, held)

    assert_linear(prepared, 64, 512)


def test_steering_adds_affinity_only_where_the_object_holds_the_spec() -> None:
    evaluator = OfflineEvaluator.of(Settings(injections=Injections(steering=SteeringInjection(True))))
    held = {"metadata": {}, "spec": {"predictor": {"model": {"resources": limits(2)}}}}
    (edit,) = evaluator.evaluate(held, KSERVE, "InferenceService", RequestContext("team-a")).edits
    assert edit.path[:3] == ("spec", "predictor", "affinity")
    workflow = {"spec": {"nodeSelector": {"zone": "a"}, "templates": [{"script": {"resources": limits(2)}}]}}
    verdict = evaluator.evaluate(workflow, ARGO, "Workflow", RequestContext("team-a"))
    assert (verdict.edits, verdict.findings) == ((), ())
