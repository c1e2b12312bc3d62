"""Custom objects are sent when they are new or when a pod in them changes, and only if they name a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.matching import called, request
from tests.chart.render import WEBHOOK_MODES, entries, entry, only
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, MEMBER, Assembly, Form, PathPattern, steps
from webhook.policy.workloads.presets import PRESETS

pytestmark = pytest.mark.slow

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
# With `Fail`, `called` reports a condition that fails or costs too much also where it is not the last one.
STRICT = {"webhooks": {"validating": {"customKindsFailurePolicy": "Fail"}}}


def holding(version: str, kind: str, **spec: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def container(amount: int = 1) -> Json:
    return {"name": "main", "resources": {"limits": {GPU: amount} if amount else {"cpu": 1}}}


def template(amount: int = 1) -> Json:
    return {"spec": {"containers": [container(amount)]}}


# The presets: wherever a kind keeps a pod, as the program has it. That the program is right is for other tests.

FORMS: dict[Form, Any] = {
    "container": container,
    "resources": lambda amount: {"limits": {GPU: amount} if amount else {"cpu": 1}},
    "step": lambda amount: {"computeResources": {"requests": {GPU: amount} if amount else {"cpu": 1}}},
    "trainer": lambda amount: {"resourcesPerNode": {"limits": {GPU: amount} if amount else {"cpu": 1}}},
    "spark": lambda amount: {"gpu": {"name": GPU if amount else "amd.com/gpu", "quantity": 1}},
}


def pods(kind: Kind) -> Iterator[tuple[PathPattern, Any]]:
    """The paths to every place in which an object of a kind may name a GPU, and what makes the value there."""
    for path in kind.paths:
        match path.holds:
            case Assembly() as assembly:
                yield from (((*path.steps, *steps(below)), FORMS[form]) for below, form in assembly.requests)
            case "template":
                yield path.steps, template
            case "podSpec":
                yield (*path.steps, "initContainers"), lambda amount: [container(amount)]
                yield path.steps, lambda amount: template(amount)["spec"]
            case "container" | "resources" as form:
                yield path.steps, FORMS[form]


def at(pattern: PathPattern, value: Any) -> Any:
    """A value in which the steps lead to another."""
    for step in reversed(pattern):
        value = [value] if step == EVERY else {"Worker" if step == MEMBER else step: value}
    return value


PLACES = [
    (preset.name, kind, pattern, make) for preset in PRESETS for kind in preset.kinds for pattern, make in pods(kind)
]


def of(kind: Kind, held: Json) -> Json:
    return {"apiVersion": f"{kind.group}/{kind.versions[0]}", "kind": kind.kind, "metadata": {"name": "x"}, **held}


def asked(kind: Kind, manifest: Json, before: Json | None = None) -> Json:
    namespace = "team" if kind.namespaced else ""
    return request(manifest, before=before, namespace=namespace, resource=kind.resource)


def test_presets_send_gpu_at_every_place() -> None:
    new, without = (
        [asked(kind, of(kind, at(pattern, make(amount)))) for _, kind, pattern, make in PLACES] for amount in (2, 0)
    )
    assert len(PLACES) > 70
    for (preset, kind, pattern, _), sent in zip(PLACES, called(STRICT, new), strict=True):
        assert sent == {f"{preset}.validate"}, (kind.kind, pattern)
    assert called(STRICT, without) == [set()] * len(PLACES)


def test_presets_send_updates_of_pods_only() -> None:
    changed, beside = [], []
    for _, kind, pattern, make in PLACES:
        before, after = (of(kind, at(pattern, make(amount))) for amount in (0, 2))
        changed.append(asked(kind, after, before))
        metadata = {"name": "x", "labels": {"a": "b"}, "finalizers": ["example.com/hold"]}
        beside.append(asked(kind, {**after, "metadata": metadata, "status": {"phase": "Running"}}, after))
    for (preset, kind, pattern, _), sent in zip(PLACES, called(STRICT, changed), strict=True):
        assert sent == {f"{preset}.validate"}, (kind.kind, pattern)
    assert called(STRICT, beside) == [set()] * len(PLACES)


def test_preset_rules_name_known_kinds() -> None:
    for preset in PRESETS:
        named = {
            (*rule["apiGroups"], resource, tuple(rule["apiVersions"]), rule["scope"])
            for rule in entry(f"{preset.name}.validate", "default")["rules"]
            for resource in rule["resources"]
        }
        assert named == {
            (kind.group, kind.resource, kind.versions, "Namespaced" if kind.namespaced else "Cluster")
            for kind in preset.kinds
        }


def test_scope_of_rule_decides() -> None:
    cluster_wide = [(kind, pattern, make) for _, kind, pattern, make in PLACES if not kind.namespaced]
    assert {kind.kind for kind, _, _ in cluster_wide} >= {"ClusterTrainingRuntime", "ClusterWorkflowTemplate"}
    requests = [request(of(kind, at(pattern, make(1))), resource=kind.resource) for kind, pattern, make in cluster_wide]
    assert called("default", requests) == [set()] * len(requests)


@pytest.mark.parametrize("chosen", [[], ["kuberay", "tekton"], ["all", "tekton"]], ids=str)
def test_only_chosen_presets_have_entries(chosen: list[str]) -> None:
    names = {preset.name for preset in PRESETS}
    found = {one["name"].partition(".")[0] for one in entries({"config": {"workloads": {"presets": chosen}}})}
    assert found & names == (names if "all" in chosen else set(chosen))


# Objects and their expectations by hand.


def jobset(*amounts: int, **rest: Any) -> Json:
    jobs = [{"replicas": 1, "template": {"spec": {"template": template(amount)}}} for amount in amounts]
    return holding("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=jobs, **rest)


def raycluster(head: int, *workers: tuple[int, int]) -> Json:
    """A cluster by the GPUs of its head, and the replicas and GPUs of its worker groups."""
    groups = [{"replicas": replicas, "template": template(amount)} for replicas, amount in workers]
    return holding("ray.io/v1", "RayCluster", headGroupSpec={"template": template(head)}, workerGroupSpecs=groups)


def pytorchjob(**replicas: tuple[int, int]) -> Json:
    """A job by the replicas and GPUs of its roles."""
    specs = {role: {"replicas": count, "template": template(amount)} for role, (count, amount) in replicas.items()}
    return holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=specs)


def predictor(**members: Any) -> Json:
    return holding("serving.kserve.io/v1beta1", "InferenceService", predictor=members)


def workflow(*templates: Any, **rest: Any) -> Json:
    return holding("argoproj.io/v1alpha1", "Workflow", templates=list(templates), **rest)


def running(amount: int = 1) -> Json:
    """A template of a workflow."""
    return {"name": "step", "container": container(amount)}


def task(**members: Any) -> Json:
    return holding("tekton.dev/v1", "Task", **members)


def pipeline_run(amount: int, **rest: Any) -> Json:
    steps = [{"name": "train", "computeResources": {"limits": {GPU: amount}}}]
    return holding("tekton.dev/v1", "PipelineRun", pipelineSpec={"tasks": [{"taskSpec": {"steps": steps}}]}, **rest)


def spark(driver: Any, executor: Any = None) -> Json:
    return holding("sparkoperator.k8s.io/v1beta2", "SparkApplication", driver=driver, executor=executor)


def trainjob(resources: Any) -> Json:
    return holding("trainer.kubeflow.org/v1alpha1", "TrainJob", trainer={"resourcesPerNode": resources})


NEW = {
    "no template of a list": (jobset(0, 0), ""),
    "an empty list": (jobset(), ""),
    "no list": (holding("jobset.x-k8s.io/v1alpha2", "JobSet"), ""),
    "null for a list": (holding("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=None), ""),
    "no spec": ({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "x"}}, ""),
    "neither path": (raycluster(0, (1, 0)), ""),
    "a member of a mapping": (pytorchjob(Master=(1, 0), Worker=(2, 1)), "training-operator"),
    "no member of a mapping": (pytorchjob(Master=(1, 0)), ""),
    "null for a mapping": (holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=None), ""),
    "null for a member": (holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs={"Worker": None}), ""),
    "neither of them": (predictor(model=container(0)), ""),
    "null for a container": (predictor(model=None), ""),
    "null for resources": (predictor(model={"resources": None}), ""),
    "null for amounts": (predictor(model={"resources": {"limits": None}}), ""),
    "a MIG device": (predictor(model={"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}), "kserve"),
    "a template without containers": (workflow({"name": "dag", "dag": {}}, running()), "argo-workflows"),
    "no container in a list": (workflow({"name": "dag"}, running(0)), ""),
    "null for a template": (workflow(None, {"sidecars": None}, {"containerSet": None}), ""),
    "a step of v1beta1": (task(steps=[container()]) | {"apiVersion": "tekton.dev/v1beta1"}, "tekton"),
    "no step": (task(steps=[{"computeResources": {"limits": {"cpu": 1}}}, {"computeResources": None}]), ""),
    "the GPU of another vendor": (spark({"gpu": {"name": "amd.com/gpu", "quantity": 1}}), ""),
    "null for a GPU": (spark({"gpu": None}, {"gpu": {"name": None}}), ""),
    "bare resources without a GPU": (trainjob({"limits": {"cpu": 1}}), ""),
    "null for bare resources": (trainjob(None), ""),
}
# What a CRD with an open schema lets through.
WRONG = {
    "text for a list": workflow() | {"spec": {"templates": "x"}},
    "a number for a list": workflow() | {"spec": {"templates": 1}},
    "a mapping for a list": workflow() | {"spec": {"templates": {"a": running()}}},
    "text for an object": workflow() | {"spec": "x"},
    "text for a template": workflow("x", 1, True),
    "a list for a template": workflow([running()]),
    "text for a container": workflow({"container": "x", "sidecars": ["x", 1]}),
    "a list for a container": workflow({"container": [container()], "sidecars": [[container()]]}),
    "text for resources": workflow({"container": {"resources": "x"}}),
    "text for amounts": workflow({"container": {"resources": {"limits": "x", "requests": 1}}}),
    "a list for amounts": workflow({"container": {"resources": {"limits": [GPU], "requests": [1]}}}),
    "a list for a mapping": holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=[{"template": template()}]),
    "text for a mapping": holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs="x"),
    "a list for a member": holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs={"Worker": [template()]}),
    "text for a pod": holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs={"Worker": {"template": "x"}}),
    "a list for a step": task(steps=[[container()]], sidecars="x"),
    "a number for the name of a GPU": spark({"gpu": {"name": 1, "quantity": 1}}),
    "text for a GPU": spark({"gpu": "x"}, "x"),
}
CHANGED = {
    "a template more": (jobset(1), jobset(1, 1), "jobset"),
    "a template for null": (workflow(None), workflow(running()), "argo-workflows"),
    "what stands beside a list": (jobset(1), jobset(1, suspend=True), ""),
    "the replicas beside a template of a list": (raycluster(0, (1, 1)), raycluster(0, (5, 1)), ""),
    "the template beside them": (raycluster(0, (1, 1)), raycluster(0, (1, 2)), "kuberay"),
    "a template that names no GPU, where another does": (raycluster(0, (1, 1)), raycluster(1, (1, 1)), "kuberay"),
    "the replicas of a member": (pytorchjob(A=(1, 1), B=(2, 1)), pytorchjob(A=(3, 1), B=(2, 1)), ""),
    "the template of a member": (pytorchjob(A=(1, 1), B=(2, 1)), pytorchjob(A=(1, 1), B=(2, 2)), "training-operator"),
    "a member more": (pytorchjob(A=(1, 1)), pytorchjob(A=(1, 1), B=(1, 1)), "training-operator"),
    "a member less": (pytorchjob(A=(1, 1), B=(1, 1)), pytorchjob(A=(1, 1)), ""),
    "a list where null was": (holding("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=None), jobset(1), "jobset"),
    "nothing": (workflow(running()), workflow(running()), ""),
    "the shutdown of a workflow": (workflow(running()), workflow(running(), shutdown="Stop"), ""),
    "the end of a pipeline that runs": (pipeline_run(1), pipeline_run(1, status="Cancelled"), ""),
}


def expected(preset: str) -> set[str]:
    return {f"{preset}.validate"} if preset else set()


def test_new_custom_objects_with_gpu_are_sent() -> None:
    found = called(STRICT, [request(manifest) for manifest, _ in NEW.values()])
    for (label, (_, preset)), sent in zip(NEW.items(), found, strict=True):
        assert sent == expected(preset), label


def test_changed_custom_objects_are_sent() -> None:
    found = called(STRICT, [request(after, before=before) for before, after, _ in CHANGED.values()])
    for (label, (_, _, preset)), sent in zip(CHANGED.items(), found, strict=True):
        assert sent == expected(preset), label


def test_values_of_wrong_types_count_as_absent() -> None:
    requests = [
        asked for wrong in WRONG.values() for asked in (request(wrong), request(wrong, before={**wrong, "spec": {}}))
    ]
    assert called(STRICT, requests) == [set()] * 2 * len(WRONG)


@pytest.mark.parametrize(
    "malformed",
    [
        predictor() | {"spec": {"predictor": [container()]}},
        predictor(model={"resources": [{"limits": {GPU: 1}}]}),
        trainjob([{"limits": {GPU: 1}}]),
    ],
    ids=["for a pod", "for resources", "for bare resources"],
)
def test_list_for_object_is_left_to_failure_policy(malformed: Json) -> None:
    """The webhook itself answers that such an object is malformed, to which the failure policy applies as well."""
    with pytest.raises(AssertionError, match="unsupported index type 'string' in list"):
        called(STRICT, [request(malformed)])


def test_cel_map_order_does_not_matter() -> None:
    roles = {f"Role{index}": (1, 1) for index in range(12)}
    scaled = roles | {"Role7": (9, 1)}
    same = request(pytorchjob(**scaled), before=pytorchjob(**roles))
    assert called("default", [same] * 200) == [set()] * 200


# Size and cost.


def test_large_mappings_and_lists_are_sent_unread() -> None:
    """CEL reads keys so slowly that 100,000 of them would occupy the API server for its whole timeout."""

    def roles(count: int) -> Json:
        return pytorchjob(**{f"Role{number}": (1, 0) for number in range(count)})

    def names(count: int) -> Json:
        return trainjob({"limits": {f"example.com/{number}": 1 for number in range(count)}})

    few = [roles(100), names(100), workflow(*[running(0)] * 500)]
    many = [
        roles(101),
        names(101),
        workflow(*[running(0)] * 501),
        roles(20_000),
        names(50_000),
        workflow(*[{}] * 300_000),
    ]
    found = called(STRICT, [request(manifest) for manifest in (*few, *many)])
    assert found[:3] == [set()] * 3
    assert found[3:] == [{"training-operator.validate"}, {"trainer.validate"}, {"argo-workflows.validate"}] * 2
    update = request(roles(20_000), before=roles(20_000))
    assert called(STRICT, [update]) == [{"training-operator.validate"}]


def filled(name: str) -> Json:
    """A container with four resource names in limits and in requests."""
    amounts = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "rdma/hca": 1}
    return {"name": name, "image": "registry.example.test/x:1", "resources": {"limits": amounts, "requests": amounts}}


def step(name: str) -> Json:
    held = filled(name)
    return {"name": name, "image": held["image"], "computeResources": held["resources"]}


LARGEST = {
    "workflow": workflow(*[{"container": filled("a"), "sidecars": [filled("b"), filled("c")]}] * 500),
    "jobset": holding(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        replicatedJobs=[
            {"template": {"spec": {"template": {"spec": {"containers": [filled("a")] * 3, "initContainers": []}}}}}
        ]
        * 500,
    ),
    "raycluster": holding(
        "ray.io/v1",
        "RayCluster",
        headGroupSpec={"template": {"spec": {"containers": [filled("a")] * 100}}},
        workerGroupSpecs=[{"template": {"spec": {"containers": [filled("a")] * 3}}}] * 500,
    ),
    "pipeline": holding(
        "tekton.dev/v1", "Pipeline", tasks=[{"taskSpec": {"steps": [step("a"), step("b"), step("c")]}}] * 500
    ),
    "pytorchjob": holding(
        "kubeflow.org/v1",
        "PyTorchJob",
        pytorchReplicaSpecs={f"R{n}": {"template": {"spec": {"containers": [filled("a")] * 15}}} for n in range(100)},
    ),
    "pod": predictor(containers=[filled("a")] * 1500),
}


@pytest.mark.parametrize("label", LARGEST)
def test_largest_objects_are_within_budget(label: str) -> None:
    """`called` fails where the conditions cost more than the API server's budget."""
    manifest = LARGEST[label]
    assert len(json.dumps(manifest)) > 300_000
    updated = {**manifest, "status": {"phase": "Running"}}
    changed = request(manifest, before={**manifest, "spec": {}})
    assert called(STRICT, [request(manifest), request(updated, before=manifest), changed]) == [set()] * 3


def test_condition_beyond_budget_is_skipped() -> None:
    """The API server admits such an object, such as 3,000 containers of 40 resources each. Its pods are checked."""
    other = {"resources": {"limits": {f"example.com/{number}": 1 for number in range(40)}}}
    beyond = [request(predictor(containers=[other] * 3_000 + [container()]))]
    with pytest.raises(AssertionError, match=r"kserve.*: no condition failed"):
        called("default", beyond)
    with pytest.raises(AssertionError, match=r"(?s)kserve.*: error: .*actual cost limit exceeded"):
        called(STRICT, beyond)


@pytest.mark.parametrize("mode", WEBHOOK_MODES)
def test_configuration_fits_into_an_annotation(mode: str) -> None:
    """Client-side apply stores the object in an annotation, of which an object may have 256 KiB."""
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        assert len(json.dumps(only(kind, mode))) < 128 * 1024


# Paths of users.

TRAIN = {"group": "example.com", "kind": "Train", "path": "spec.template"}


def paths(*given: Json) -> Json:
    return {"config": {"workloads": {"paths": list(given)}}}


def train(amount: int = 1) -> Json:
    return holding("example.com/v7", "Train", template=template(amount))


def test_path_alone_produces_entry() -> None:
    found = called(paths(TRAIN), [request(train()), request(train(0)), request(train(), namespace="")])
    assert found == [{"trains.example.com.validate"}, set(), set()]


def test_path_settings_produce_rule() -> None:
    given = {**TRAIN, "resource": "rolling-stock", "versions": ["v1", "v2beta1"], "scope": "Cluster"}
    (rule,) = entry("rolling-stock.example.com.validate", paths(given))["rules"]
    assert rule == {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1", "v2beta1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["rolling-stock"],
        "scope": "Cluster",
    }
    (rule,) = entry("trains.example.com.validate", paths(TRAIN))["rules"]
    assert (rule["apiVersions"], rule["resources"], rule["scope"]) == (["*"], ["trains"], "Namespaced")


def test_path_adds_to_kind_of_preset() -> None:
    values = paths({"group": "ray.io", "kind": "RayCluster", "path": "spec.spare", "holds": "podSpec"})
    spare = holding("ray.io/v1", "RayCluster", spare=template()["spec"])
    assert called(values, [request(spare), request(raycluster(1))]) == [{"kuberay.validate"}] * 2


@pytest.mark.parametrize("kind", [("apps", "Deployment"), ("batch", "Job"), ("", "Pod")])
def test_path_of_built_in_kind_adds_no_entry(kind: tuple[str, str]) -> None:
    given = {"group": kind[0], "kind": kind[1], "path": "spec.template"}
    assert [one["name"] for one in entries(paths(given))] == [one["name"] for one in entries("default")]


def test_path_steps_may_be_cel_keywords_or_contain_dashes() -> None:
    values = paths({"group": "a.io", "kind": "Train", "path": "spec.in.my-pods[*].for.*.pod-template"})

    def held(amount: int, cars: int = 1) -> Json:
        pods = [{"for": {"driver": {"cars": cars, "pod-template": template(amount)}}}]
        return holding("a.io/v1", "Train", **{"in": {"my-pods": pods}})

    requests = [request(held(1)), request(held(0)), request(held(2), before=held(1))]
    assert called(values, requests) == [{"trains.a.io.validate"}, set(), {"trains.a.io.validate"}]


def test_lists_in_lists_and_mappings_are_read() -> None:
    values = paths(
        {**TRAIN, "path": "spec.cars[*].rows[*].seats[*]", "holds": "container"},
        {**TRAIN, "path": "spec.stops.*.tracks.*", "holds": "resources"},
    )
    values["webhooks"] = STRICT["webhooks"]

    def seats(amount: int) -> Json:
        return holding("example.com/v1", "Train", cars=[{}, {"rows": [None, {"seats": [container(amount)]}]}])

    def tracks(amount: int, height: int = 1) -> Json:
        held = {"limits": {GPU: amount} if amount else {}}
        return holding("example.com/v1", "Train", stops={"a": {"tracks": {"b": held}, "height": height}})

    sent, entry_name = [], {"trains.example.com.validate"}
    for make in (seats, tracks):
        sent += [request(make(1)), request(make(2), before=make(1)), request(make(0)), request(make(1), before=make(1))]
    sent.append(request(tracks(1, height=2), before=tracks(1)))
    assert called(values, sent) == [entry_name, entry_name, set(), set()] * 2 + [set()]


# The failure policy.


def test_custom_kinds_have_their_own_failure_policy() -> None:
    values = paths(TRAIN) | {"webhooks": {"validating": {"failurePolicy": "Fail"}}}
    names = ["kuberay.validate", "trains.example.com.validate"]
    assert [entry(name, values)["failurePolicy"] for name in names] == ["Ignore"] * 2
    values["webhooks"]["validating"] = {"failurePolicy": "Ignore", "customKindsFailurePolicy": "Fail"}
    assert [entry(name, values)["failurePolicy"] for name in [*names, "pods.validate"]] == ["Fail", "Fail", "Ignore"]


def test_values_of_older_chart_keep_custom_kinds_ignored() -> None:
    """`helm upgrade --reuse-values` lacks the values that the older chart did not have."""
    values = {"webhooks": {"validating": {"customKindsFailurePolicy": None}}}
    assert entry("kuberay.validate", values)["failurePolicy"] == "Ignore"
