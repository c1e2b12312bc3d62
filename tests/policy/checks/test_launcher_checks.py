"""GPS020 and GPS021 in groups of pods: linear work, long names and amounts, and what the groups leave open."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.heap import frozen_heap
from tests.linear import assert_linear
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Limits, Resource, Settings
from webhook.policy.verdict import Finding

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
SHARED = OfflineEvaluator.of(Settings())
WHOLE = OfflineEvaluator.of(Settings(resources=(Resource(GPU, kind="whole"),)))


def container(*args: str, gpus: object = 1, name: str = "c", **members: Any) -> Json:
    return {"name": name, "args": list(args), "resources": {"limits": {GPU: gpus}}, **members}


def template(*containers: Json) -> Json:
    return {"template": {"spec": {"containers": list(containers)}}}


def findings(evaluator: OfflineEvaluator, kind: str, spec: Json) -> list[Finding]:
    group = {"MPIJob": "kubeflow.org", "PyTorchJob": "kubeflow.org", "RayCluster": "ray.io"}.get(kind, "apps")
    manifest = {"kind": kind, "spec": spec}
    verdict = evaluator.evaluate(manifest, group, kind, RequestContext("default"))
    return [one for one in verdict.findings if one.code in ("GPS020", "GPS021")]


def deployment(*containers: Json, evaluator: OfflineEvaluator = WHOLE) -> list[Finding]:
    return findings(evaluator, "Deployment", template(*containers))


LONGEST = [
    ("vllm", "serve", "--prefill-context-parallel-size", "99999"),
    ("vllm", "serve", "-tp", "99999", "-pp", "99999", "-dp", "99999"),
    ("python", "-m", "sglang.launch_server", "--tp", "99999", "--pp", "99999", "--dp", "99999"),
]


@pytest.mark.parametrize("args", LONGEST, ids=" ".join)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_messages_fit_with_long_names_and_amounts(args: tuple[str, ...], kind: str) -> None:
    spec = {"template": {"spec": {kind: [container(*args, name="n" * 63, gpus=9999)]}}}
    (found,) = findings(WHOLE, "Deployment", spec)
    assert len(f"{found.code} {found.message}") <= 120
    assert found.message.isprintable()


def test_messages_of_groups_fit() -> None:
    launcher = {"name": "n" * 63, "args": ["mpirun", "-np", "99999", "all_reduce_perf"]}
    worker = {"replicas": 9999, **template(container(name="w" * 63, gpus=9))}
    (found,) = findings(WHOLE, "MPIJob", {"mpiReplicaSpecs": {"Launcher": template(launcher), "Worker": worker}})
    assert found.message.endswith("needs 99999 GPUs; its group has 89991")
    assert len(f"{found.code} {found.message}") <= 120


def test_longer_numbers_are_silent() -> None:
    assert deployment(container("vllm", "serve", "-tp", "100000")) == []


def test_fraction_of_gpu_is_reported_by_another_check() -> None:
    fraction = container("vllm", "serve", "-tp", "2", gpus="500m")
    assert deployment(fraction) == []
    assert findings(SHARED, "StatefulSet", {"replicas": 2, **template(fraction)}) == []


def test_requests_of_several_resources_add_up() -> None:
    evaluator = OfflineEvaluator.of(
        Settings(resources=(Resource(GPU, kind="whole"), Resource("example.com/gpu", kind="whole")))
    )
    both = container("vllm", "serve", "-tp", "2")
    both["resources"]["limits"]["example.com/gpu"] = 1
    assert deployment(both, evaluator=evaluator) == []


RAY = {"groupName": "g", "maxReplicas": 4, **template(container(gpus=1))}


@pytest.mark.parametrize(("autoscales", "expected"), [(True, []), (False, ["GPS021"])])
def test_group_of_unknown_size_is_silent(autoscales: bool, expected: list[str]) -> None:
    head = template(container("vllm", "serve", "m", "-tp", "8", "--distributed-executor-backend", "ray"))
    spec = {"enableInTreeAutoscaling": autoscales, "headGroupSpec": head, "workerGroupSpecs": [{**RAY, "replicas": 2}]}
    assert [one.code for one in findings(WHOLE, "RayCluster", spec)] == expected


def test_workers_without_gpus_leave_launcher_unchecked() -> None:
    launcher = template({"name": "c", "args": ["mpirun", "-np", "4", "all_reduce_perf"]})
    worker = template({"name": "w", "resources": {"limits": {"cpu": 1}}})
    assert findings(WHOLE, "MPIJob", {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}}) == []


def test_launcher_is_reported_once() -> None:
    launcher = template({"name": "c", "args": ["mpirun", "-np", "4", "all_reduce_perf"]})
    workers = {"Worker": {"replicas": 1, **template(container())}, "Other": {"replicas": 1, **template(container())}}
    found = findings(WHOLE, "MPIJob", {"mpiReplicaSpecs": {"Launcher": launcher, **workers}})
    assert [one.path[2] for one in found] == ["Launcher"]


def test_variable_that_enables_ranks_on_one_gpu_counts_in_any_pod_of_group() -> None:
    enabled = container(env=[{"name": "NCCL_MULTI_RANK_GPU_ENABLE", "value": "1"}])
    spec = {"Master": template(container()), "Worker": {"replicas": 2, **template(container())}}
    assert len(findings(SHARED, "PyTorchJob", {"pytorchReplicaSpecs": spec})) == 2
    assert findings(SHARED, "PyTorchJob", {"pytorchReplicaSpecs": {**spec, "Master": template(enabled)}}) == []


def test_command_lines_of_256_containers_are_read() -> None:
    one = container("vllm", "serve", "-tp", "2")
    assert deployment(*[container("sleep")] * 255, one) != []
    assert deployment(*[container("sleep")] * 256, one) == []


def test_ranks_of_one_container_do_not_span_pods() -> None:
    own = container("torchrun", "--nproc-per-node", "4", "t")
    assert [one.code for one in findings(SHARED, "StatefulSet", {"replicas": 2, **template(own)})] == ["GPS021"]


@pytest.mark.parametrize(("roles", "expected"), [(("Worker",), []), (("Master", "Worker"), ["GPS020", "GPS020"])])
def test_role_of_unknown_size_counts_as_one_pod(roles: tuple[str, ...], expected: list[str]) -> None:
    spec = {"elasticPolicy": {}, "pytorchReplicaSpecs": {role: template(container()) for role in roles}}
    assert [found.code for found in findings(SHARED, "PyTorchJob", spec)] == expected


def test_ranks_of_group_do_not_all_run_in_one_container() -> None:
    evaluator = OfflineEvaluator.of(Settings(limits=Limits(per_container=2, per_pod=2)))
    two = container("vllm", "serve", "m", "-tp", "2", gpus=2)
    assert [found.path[-1] for found in deployment(two, evaluator=evaluator)] == [4]
    assert findings(evaluator, "StatefulSet", {"replicas": 2, **template(two)}) == []


def test_review_of_group_leaves_no_reference_cycle() -> None:
    launcher = template({"name": "c", "args": ["mpirun", "-np", "4", "all_reduce_perf"]})
    spec = {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": template(container())}}
    assert len(findings(SHARED, "MPIJob", spec)) == 1
    with frozen_heap():
        findings(SHARED, "MPIJob", spec)
        assert gc.collect() == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PyTorchJob", "MPIJob"])
def test_work_is_linear_in_pods_of_group(kind: str) -> None:
    field = {"PyTorchJob": "pytorchReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}[kind]

    def prepared(size: int) -> Any:
        roles = {f"r{number}": template(container("mpirun", "-np", "9", "all_reduce_perf")) for number in range(size)}
        roles |= {f"l{number}": template({"args": ["vllm", "serve", "-tp", "9"]}) for number in range(size)}
        return lambda: findings(SHARED, kind, {field: roles})

    assert_linear(prepared, 16, 256)
