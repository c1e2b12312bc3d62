"""Custom objects are sent when they are new or when a pod at a configured path changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.matching import called, request
from tests.chart.render import RefusedError, rendered

pytestmark = pytest.mark.slow

Json = dict[str, Any]

GPU = "nvidia.com/gpu"


def holding(version: str, kind: str, **spec: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def template(amount: int = 1) -> Json:
    container = {"name": "main", "resources": {"limits": {GPU: amount} if amount else {"cpu": 1}}}
    return {"spec": {"containers": [container]}}


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


def workflow(*amounts: int) -> Json:
    steps = [{"container": template(amount)["spec"]["containers"][0]} for amount in amounts]
    return holding("argoproj.io/v1alpha1", "Workflow", templates=[{"name": "dag"}, *steps])


NEW = {
    "the last template of a list": (jobset(0, 1), True),
    "no template of a list": (jobset(0, 0), False),
    "an empty list": (jobset(), False),
    "no list": (holding("jobset.x-k8s.io/v1alpha2", "JobSet"), False),
    "null for a list": (holding("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=None), False),
    "the first of two paths": (raycluster(1, (1, 0)), True),
    "the second of two paths": (raycluster(0, (1, 0), (1, 2)), True),
    "neither path": (raycluster(0, (1, 0)), False),
    "a member of a mapping": (pytorchjob(Master=(1, 0), Worker=(2, 1)), True),
    "no member of a mapping": (pytorchjob(Master=(1, 0)), False),
    "null for a mapping": (holding("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=None), False),
    "a pod spec": (predictor(**template()["spec"]), True),
    "a container": (predictor(model=template()["spec"]["containers"][0]), True),
    "neither of them": (predictor(model=template(0)["spec"]["containers"][0]), False),
    "null for amounts": (predictor(model={"resources": {"limits": None}}), False),
    "a container in a list": (workflow(0, 1), True),
    "no container in a list": (workflow(0), False),
}
CHANGED = {
    "another template of a list": (jobset(1, 1), jobset(1, 2), True),
    "a template more": (jobset(1), jobset(1, 1), True),
    "what stands beside a list": (jobset(1), jobset(1, suspend=True), False),
    "the replicas beside a template of a list": (raycluster(0, (1, 1)), raycluster(0, (5, 1)), False),
    "the template beside them": (raycluster(0, (1, 1)), raycluster(0, (1, 2)), True),
    "a template that names no GPU, where another does": (raycluster(0, (1, 1)), raycluster(1, (1, 1)), True),
    "the replicas beside a template of a mapping": (
        pytorchjob(A=(1, 1), B=(2, 1)),
        pytorchjob(A=(3, 1), B=(2, 1)),
        False,
    ),
    "the template of a member": (pytorchjob(A=(1, 1), B=(2, 1)), pytorchjob(A=(1, 1), B=(2, 2)), True),
    "a member more": (pytorchjob(A=(1, 1)), pytorchjob(A=(1, 1), B=(1, 1)), True),
    "a member less": (pytorchjob(A=(1, 1), B=(1, 1)), pytorchjob(A=(1, 1)), False),
    "a list where null was": (holding("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=None), jobset(1), True),
    "nothing": (workflow(1), workflow(1), False),
    "a container": (workflow(1, 0), workflow(1, 1), True),
}


def entry_of(manifest: Json) -> str:
    group = manifest["apiVersion"].partition("/")[0]
    return f"{manifest['kind'].lower()}s.{group}.validate"


def test_new_custom_objects_with_gpu_are_sent() -> None:
    found = called("everything", [request(manifest) for manifest, _ in NEW.values()])
    for (label, (manifest, sent)), entries in zip(NEW.items(), found, strict=True):
        assert entries == ({entry_of(manifest)} if sent else set()), label


def test_changed_custom_objects_are_sent() -> None:
    found = called("everything", [request(after, before=before) for before, after, _ in CHANGED.values()])
    for (label, (_, after, sent)), entries in zip(CHANGED.items(), found, strict=True):
        assert entries == ({entry_of(after)} if sent else set()), label


def test_cel_map_order_does_not_matter() -> None:
    roles = {f"Role{index}": (1, 1) for index in range(12)}
    scaled = roles | {"Role7": (9, 1)}
    same = request(pytorchjob(**scaled), before=pytorchjob(**roles))
    assert called("everything", [same] * 200) == [set()] * 200


def test_path_steps_may_be_cel_keywords_or_contain_dashes() -> None:
    kind = {"group": "a.io", "kind": "Train", "versions": ["v1"], "resource": "trains"}
    paths = [{"group": "a.io", "kind": "Train", "path": "spec.in.my-pods[*].for.*.pod-template"}]
    values = {"webhooks": {"customKinds": [kind]}, "config": {"workloads": {"paths": paths}}}

    def train(amount: int, cars: int = 1) -> Json:
        pods = [{"for": {"driver": {"cars": cars, "pod-template": template(amount)}}}]
        return holding("a.io/v1", "Train", **{"in": {"my-pods": pods}})

    asked = [request(train(1)), request(train(0)), request(train(2), before=train(1))]
    assert called(values, asked) == [{"trains.a.io.validate"}, set(), {"trains.a.io.validate"}]


def test_kind_without_path_is_rejected() -> None:
    kind = {"group": "ray.io", "kind": "RayJob", "versions": ["v1"], "resource": "rayjobs"}
    with pytest.raises(RefusedError, match=r"config\.workloads\.paths does not say where it keeps its pod templates"):
        rendered({"webhooks": {"customKinds": [kind]}})
