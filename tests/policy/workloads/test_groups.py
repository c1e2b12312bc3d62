"""The groups in which the pods of an object work together, and how many pods each template makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Workloads
from webhook.policy.workloads.kinds import ExtractedPod, extract
from webhook.policy.workloads.presets import kinds_with

Json = dict[str, Any]

KINDS = kinds_with(Workloads())
POD: Json = {"spec": {"containers": [{"name": "main"}]}}
MOST = 2**31 - 1


def extracted(name: str, spec: Json) -> list[ExtractedPod]:
    group, _, kind = name.rpartition("/")
    return extract(KINDS, {"spec": spec}, group, kind)


def template(**fields: Any) -> Json:
    return {**fields, "template": POD}


def ray(*workers: Json, **fields: Any) -> Json:
    return {**fields, "headGroupSpec": template(), "workerGroupSpecs": [template(**group) for group in workers]}


def lws(leader: bool, **fields: Any) -> Json:
    leaders = {"leaderTemplate": POD} if leader else {}
    return {"leaderWorkerTemplate": {**fields, **leaders, "workerTemplate": POD}}


def jobs(*replicated: Json) -> Json:
    return {"replicatedJobs": list(replicated)}


def replicated(job: Json | None = None, step: str | None = None, **fields: Any) -> Json:
    metadata = {} if step is None else {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}}
    return {**fields, "template": {"metadata": metadata, "spec": template(**(job or {}))}}


def runtime(policy: Json | None, *replicated: Json) -> Json:
    return {"mlPolicy": policy, "template": {"spec": jobs(*replicated)}}


def tasks(*several: Json) -> Json:
    return {"tasks": [template(**task) for task in several]}


COUNTS: list[tuple[str, Json, list[int | None]]] = [
    ("ray.io/RayCluster", ray(), [1]),
    ("ray.io/RayCluster", ray({"replicas": 3}, {}, {"replicas": None}), [1, 3, 0, 0]),
    ("ray.io/RayCluster", ray({"replicas": 3, "numOfHosts": 4}, {"replicas": 3, "numOfHosts": 0}), [1, 12, 0]),
    ("ray.io/RayCluster", ray({"replicas": 0, "minReplicas": 2}, {"replicas": 9, "maxReplicas": 4}), [1, 2, 4]),
    ("ray.io/RayCluster", ray({"minReplicas": 5}, {"replicas": 3, "suspend": True}), [1, 5, 0]),
    ("ray.io/RayCluster", ray({"replicas": 3}, enableInTreeAutoscaling=False), [1, 3]),
    ("ray.io/RayCluster", ray({"replicas": 3}, enableInTreeAutoscaling=True), [1, None]),
    (
        "ray.io/RayCluster",
        ray({"minReplicas": 3, "maxReplicas": 3, "numOfHosts": 2}, enableInTreeAutoscaling=True),
        [1, 6],
    ),
    ("ray.io/RayJob", {"rayClusterSpec": ray({"replicas": 2}), "submitterPodTemplate": POD}, [1, 2, 1]),
    ("ray.io/RayService", {"rayClusterConfig": ray({"replicas": 2}, enableInTreeAutoscaling=True)}, [1, None]),
    (
        "kubeflow.org/PyTorchJob",
        {"pytorchReplicaSpecs": {"Master": template(), "Worker": template(replicas=3)}},
        [1, 3],
    ),
    (
        "kubeflow.org/PyTorchJob",
        {"elasticPolicy": {"minReplicas": 1}, "pytorchReplicaSpecs": {"Worker": template(replicas=3)}},
        [None],
    ),
    ("kubeflow.org/TFJob", {"tfReplicaSpecs": {"PS": template(replicas=2), "Worker": template(replicas=0)}}, [2, 0]),
    ("kubeflow.org/XGBoostJob", {"xgbReplicaSpecs": {"Master": template(), "Worker": template(replicas=2)}}, [1, 2]),
    ("kubeflow.org/PaddleJob", {"elasticPolicy": {}, "paddleReplicaSpecs": {"Worker": template(replicas=2)}}, [None]),
    ("kubeflow.org/JAXJob", {"jaxReplicaSpecs": {"Worker": template(replicas=2)}}, [2]),
    ("kubeflow.org/MPIJob", {"mpiReplicaSpecs": {"Launcher": template(), "Worker": template()}}, [1, 0]),
    (
        "kubeflow.org/MPIJob",
        {"mpiReplicaSpecs": {"Launcher": template(replicas=1), "Worker": template(replicas=4)}},
        [1, 4],
    ),
    ("trainer.kubeflow.org/TrainJob", {"trainer": {"numNodes": 4}}, [4]),
    ("trainer.kubeflow.org/TrainJob", {"trainer": {}}, [None]),
    ("trainer.kubeflow.org/TrainJob", {}, []),
    (
        "trainer.kubeflow.org/TrainingRuntime",
        runtime({"numNodes": 3}, replicated(step="trainer"), replicated()),
        [None, None],
    ),
    ("jobset.x-k8s.io/JobSet", jobs(replicated()), [1]),
    (
        "jobset.x-k8s.io/JobSet",
        jobs(replicated({"parallelism": 4, "completions": 4}, replicas=2), replicated()),
        [8, 1],
    ),
    ("jobset.x-k8s.io/JobSet", jobs(replicated({"parallelism": 4, "completions": 2}, replicas=0)), [0]),
    ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lws(leader=True, size=4), [1, 3]),
    ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lws(leader=False, size=4), [4]),
    ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lws(leader=True), [1, 0]),
    ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lws(leader=True, size=0), [1, 0]),
    ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lws(leader=False), [1]),
    (
        "leaderworkerset.x-k8s.io/LeaderWorkerSet",
        {"replicas": 7, **lws(leader=True, size=8, subGroupPolicy={"subGroupSize": 2})},
        [1, 7],
    ),
    ("batch.volcano.sh/Job", tasks({"replicas": 2, "minAvailable": 1}, {}), [2, 0]),
    ("apps.nvidia.com/NIMService", {"replicas": 2}, [1]),
    ("apps.nvidia.com/NIMService", {"multiNode": {"parallelism": {"pipeline": 2, "tensor": 8}}}, [2]),
    (
        "nvidia.com/DynamoGraphDeployment",
        {"components": [{"podTemplate": POD}, {"podTemplate": POD, "multinode": {"nodeCount": 4}}]},
        [1, 4],
    ),
    ("batch/Job", template(), [1]),
    ("batch/Job", template(parallelism=4), [4]),
    ("batch/Job", template(parallelism=4, completions=2), [2]),
    ("batch/Job", template(completions=9), [1]),
    ("batch/CronJob", {"jobTemplate": {"spec": template(parallelism=4, completions=8)}}, [4]),
    ("apps/StatefulSet", template(replicas=3), [3]),
    ("apps/Deployment", template(), [1]),
    ("apps/ReplicaSet", template(replicas=2), [2]),
    ("apps/DaemonSet", template(), [None]),
    ("/ReplicationController", template(replicas=2), [2]),
    ("/Pod", POD["spec"], [1]),
]
"""By kind, the spec of an object and the number of pods of each of its templates, in the order of the kind's paths."""


@pytest.mark.parametrize(("name", "spec", "counts"), COUNTS, ids=lambda value: value if isinstance(value, str) else "")
def test_count_of_each_template(name: str, spec: Json, counts: list[int | None]) -> None:
    assert [pod.count for pod in extracted(name, spec)] == counts


NO_NUMBER = [-1, MOST + 1, 10**30, 1.5, 2.0, True, "2", "", "${REPLICAS}", [], {}, [1], {"a": 1}]


@pytest.mark.parametrize("value", NO_NUMBER, ids=repr)
@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("ray.io/RayCluster", lambda value: ray({"replicas": value})),
        ("ray.io/RayCluster", lambda value: ray({"minReplicas": value})),
        ("ray.io/RayCluster", lambda value: ray({"maxReplicas": value, "replicas": 1})),
        ("ray.io/RayCluster", lambda value: ray({"numOfHosts": value, "replicas": 1})),
        ("kubeflow.org/TFJob", lambda value: {"tfReplicaSpecs": {"Worker": template(replicas=value)}}),
        ("kubeflow.org/MPIJob", lambda value: {"mpiReplicaSpecs": {"Worker": template(replicas=value)}}),
        ("jobset.x-k8s.io/JobSet", lambda value: jobs(replicated(replicas=value))),
        ("jobset.x-k8s.io/JobSet", lambda value: jobs(replicated({"parallelism": value}))),
        ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lambda value: lws(leader=True, size=value)),
        ("batch/Job", lambda value: template(parallelism=value, completions=1)),
        ("batch/Job", lambda value: template(completions=value)),
    ],
)
def test_value_that_is_no_number_makes_count_unknown(name: str, spec: Any, value: object) -> None:
    assert extracted(name, spec(value))[-1].count is None


@pytest.mark.parametrize(
    ("name", "spec", "groups"),
    [
        ("ray.io/RayJob", {"rayClusterSpec": ray({}), "submitterPodTemplate": POD}, [{0, 1}, {0, 1}, None]),
        ("kubeflow.org/MPIJob", {"mpiReplicaSpecs": {"Launcher": template(), "Worker": template()}}, [{0, 1}, {0, 1}]),
        ("jobset.x-k8s.io/JobSet", jobs(replicated(), replicated()), [{0, 1}, {0, 1}]),
        ("leaderworkerset.x-k8s.io/LeaderWorkerSet", lws(leader=True), [{0, 1}, {0, 1}]),
        ("trainer.kubeflow.org/TrainJob", {"trainer": {}}, [{0}]),
        ("batch.volcano.sh/Job", tasks({}, {}), [{0, 1}, {0, 1}]),
        ("batch/Job", template(completionMode="Indexed"), [{0}]),
        ("batch/Job", template(completionMode="NonIndexed"), [None]),
        ("batch/Job", template(), [None]),
        ("batch/CronJob", {"jobTemplate": {"spec": template(completionMode="Indexed")}}, [{0}]),
        ("apps/StatefulSet", template(), [{0}]),
        ("apps/Deployment", template(), [None]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_groups_of_pods(name: str, spec: Json, groups: list[set[int] | None]) -> None:
    pods = extracted(name, spec)
    held = [pod.group and {pods.index(other) for other in pod.group.pods} for pod in pods]
    assert held == groups


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        (
            *("replicas", "minReplicas", "maxReplicas", "numOfHosts", "suspend", "rayStartParams"),
            *("enableInTreeAutoscaling", "elasticPolicy", "mlPolicy", "numNodes", "size", "parallelism"),
            *("completions", "completionMode", "leaderTemplate", "metadata"),
        )
    ),
    VALUES,
)


@given(name=st.sampled_from(sorted({name for name, _, _ in COUNTS})), fields=FIELDS, data=st.data())
def test_any_fields_give_a_count_or_none(name: str, fields: Json, data: st.DataObject) -> None:
    specs = [spec for known, spec, _ in COUNTS if known == name]
    spec = _with(data.draw(st.sampled_from(specs)), fields)
    try:
        pods = extracted(name, spec)
    except MalformedError:
        return  # a template that is none
    for pod in pods:
        assert pod.count is None or 0 <= pod.count <= MOST**3
        assert pod.group is None or pod in pod.group.pods
        assert pod.place.hides_shared_memory(pod.manifest, pod.path) in (False, True)


def _with(node: Any, fields: Json) -> Any:
    """The node with the fields in every mapping that holds no pod."""
    if isinstance(node, list):
        return [_with(element, fields) for element in node]
    if not isinstance(node, dict) or node is POD:
        return node
    return {**{key: _with(value, fields) for key, value in node.items()}, **fields}
