"""Workloads whose pods are not created, or are not wanted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.cluster_objects import Object, mps_node, pod
from tests.diagnose.why.recorded import Recorded, ask, causes, event, node
from webhook.policy.settings.settings import Exempt, Settings

_GROUPS = {"Job": "batch/v1", "CronJob": "batch/v1"}
_OURS = "pods.gpushare-webhook.example"


def workload(kind: str, owner: tuple[str, str] | None = None, name: str = "main", **fields: Any) -> Object:
    """A workload `main`."""
    metadata: Object = {"namespace": "team-a", "name": name}
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return {"apiVersion": _GROUPS.get(kind, "apps/v1"), "kind": kind, "metadata": metadata, "spec": {}, **fields}


def replica_set(**fields: Any) -> Object:
    return workload("ReplicaSet", ("Deployment", "main"), "main-7d", **fields)


def failed(message: str) -> Object:
    return event("FailedCreate", f"Error creating: {message}", "main-7d", "ReplicaSet")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f'admission webhook "{_OURS}" denied the request: GPS001 container "main" asks for 2', "denied-by-webhook"),
        ('admission webhook "validate.gpushare-webhook" denied the request: settings', "denied-by-webhook"),
        ('admission webhook "costs.example.com" denied the request: no cost centre', "denied-by-other"),
        (
            "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'owners' with binding 'o' denied request: no",
            "denied-by-other",
        ),
        ('Internal error occurred: failed calling webhook "down.example.com": no route to host', "webhook-unreachable"),
        (
            'pods "x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: 0, limited: 0',
            "quota",
        ),
        ('pods "x" is forbidden: failed quota: compute: must specify memory', "quota"),
        ('pods "x" is forbidden: maximum memory usage per Container is 64Mi, but limit is 1Gi', "limit-range"),
        ('pods "x" is forbidden: [minimum cpu usage per Pod is 1, but request is 0]', "limit-range"),
        (
            'pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostIPC=true)',
            "pod-security",
        ),
        ('pods "x" is forbidden: pod rejected: RuntimeClass "nvidia-cdi" not found', "runtime-class-missing"),
        (
            'pods "x" is forbidden: error looking up service account a/trainer: serviceaccount "trainer" not found',
            "service-account-missing",
        ),
        ('pods "x" is forbidden: no PriorityClass with name research was found', "priority-class-missing"),
        ("Pod is invalid", "denied-by-other"),
    ],
)
def test_refusal_of_api_server(message: str, expected: str) -> None:
    (cause,) = ask(Recorded(workload("Deployment"), replica_set(), failed(message)), "Deployment").causes
    assert cause.finding == expected
    assert message in cause.evidence[0]


KYVERNO = 'admission webhook "validate.kyverno.svc-fail" denied the request: '


GPUS = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
PLAIN = {"containers": [{"name": "main"}]}
OTHER_PATH = {**GPUS, "volumes": [{"name": "own", "hostPath": {"path": "/data"}}]}
TOLERATION = f"{KYVERNO}the pod has a toleration for nvidia.com/gpu"


@pytest.mark.parametrize(
    ("message", "spec", "settings", "setting"),
    [
        (f"{KYVERNO}HostPath volumes are forbidden, at /spec/volumes/1/hostPath/", GPUS, None, "pipeMount"),
        (f"{KYVERNO}volume gpushare-mps-nvidia-com-gpu is forbidden", OTHER_PATH, None, "pipeMount"),
        (TOLERATION, GPUS, None, "tolerations"),
        (TOLERATION, {**GPUS, "tolerations": [{"key": "dedicated", "operator": "Exists"}]}, None, "tolerations"),
        (f"{KYVERNO}runtimeClassName nvidia is not allowed", GPUS, None, "runtimeClass"),
        (f"{KYVERNO}CUDA_MPS_PIPE_DIRECTORY is reserved", GPUS, None, "pipeDirectory"),
        ('pods "x" is forbidden: pod rejected: RuntimeClass "nvidia" not found', GPUS, None, "runtimeClass"),
        (f"{KYVERNO}HostPath volumes are forbidden", OTHER_PATH, None, ""),
        (TOLERATION, PLAIN, None, ""),
        (TOLERATION, GPUS, Settings(mode="audit"), ""),
        (TOLERATION, GPUS, Settings(exempt=Exempt(namespaces=("team-a",))), ""),
        (TOLERATION, {**GPUS, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}, None, ""),
        (f"{KYVERNO}pods must have a toleration for dedicated=web", GPUS, None, ""),
        (f"{KYVERNO}pods must set runtimeClassName gvisor", GPUS, None, ""),
        (f"{KYVERNO}no cost centre", GPUS, None, ""),
        (TOLERATION, {"containers": "x"}, None, ""),
    ],
)
def test_refusal_of_injection_names_setting(
    message: str, spec: Object, settings: Settings | None, setting: str
) -> None:
    made = replica_set(spec={"template": {"spec": spec}})
    found = ask(Recorded(workload("Deployment"), made, failed(message)), "Deployment", settings=settings)
    (cause,) = found.causes
    if setting:
        assert f"which the template lacks: set injections.{setting}.enabled: false" in str(cause.remedy)
    else:
        assert "kubectl edit deployment/main" in str(cause.remedy)


def test_condition_replaces_missing_event() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: gpus, requested: 1"}
    found = workload("Deployment", status={"conditions": [condition]})
    assert causes(found, kind="Deployment") == ["quota"]
    assert causes(workload("Deployment"), replica_set(status={"conditions": [condition]}), kind="Deployment") == [
        "quota"
    ]


def test_refusal_before_pods_came_is_over() -> None:
    well = pod("main-7d-x", owner=("ReplicaSet", "main-7d"), node="a", status=_RUNS)
    made = replica_set(status={"replicas": 1})
    found = workload("Deployment", status={"availableReplicas": 1})
    assert causes(
        found, made, well, node("a", strategy="none"), failed("exceeded quota: gpus,"), kind="Deployment"
    ) == ["nothing-wrong"]


_RUNS = {
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [{"name": "main", "state": {"running": {}}}],
}


def test_newest_replica_set_decides() -> None:
    old, new = (
        workload("ReplicaSet", ("Deployment", "main"), f"main-{number}", spec={"replicas": number % 2})
        for number in (2, 3)
    )
    for number, one in enumerate((old, new)):
        one["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": str(number + 9)}
    refused = event("FailedCreate", "exceeded quota: gpus,", "main-3", "ReplicaSet")
    assert causes(workload("Deployment"), old, new, refused, kind="Deployment") == ["quota"]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("Deployment", {"spec": {"replicas": 0}}, "scaled-to-zero"),
        ("StatefulSet", {"spec": {"replicas": 0}}, "scaled-to-zero"),
        ("Deployment", {"spec": {"paused": True}}, "paused"),
        ("CronJob", {"spec": {"suspend": True}}, "paused"),
        ("Job", {"spec": {"suspend": True}}, "queued"),
        ("Job", {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, "completed"),
        (
            "Job",
            {"status": {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}},
            "deadline-exceeded",
        ),
        (
            "Job",
            {"status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}},
            "exit-code",
        ),
        ("DaemonSet", {"status": {"observedGeneration": 1, "desiredNumberScheduled": 0}}, "node-selector"),
        ("CronJob", {}, "nothing-wrong"),
    ],
)
def test_workload_that_wants_no_pods(kind: str, fields: Object, expected: str) -> None:
    assert causes(workload(kind, **fields), kind=kind) == [expected]


def test_queue_of_suspended_job_is_named() -> None:
    job = workload("Job", spec={"suspend": True})
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    (cause,) = ask(Recorded(job), "Job").causes
    assert (cause.finding, str(cause.remedy)) == ("queued", "kubectl describe localqueue team -n team-a")


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Job"])
def test_refusal_of_other_controllers(kind: str) -> None:
    status = {"desiredNumberScheduled": 2} if kind == "DaemonSet" else {}
    refused = event("FailedCreate", "exceeded quota: gpus,", "main", kind)
    assert causes(workload(kind, status=status), refused, kind=kind) == ["quota"]


def test_pod_that_waits_precedes_pod_that_failed_earlier() -> None:
    status = {"phase": "Failed", "reason": "Evicted"}
    evicted = pod("main-7d-a", owner=("ReplicaSet", "main-7d"), node="a", status=status)
    message = "0/1 nodes are available: 1 Insufficient cpu."
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    waiting = pod("main-7d-b", owner=("ReplicaSet", "main-7d"), status={"conditions": [condition]})
    made = replica_set(status={"replicas": 1})
    found = ask(Recorded(workload("Deployment"), made, evicted, waiting), "Deployment", nodes=[mps_node("a")])
    assert found.causes[0].finding == "other-resources"
    assert "kubectl edit deployment/main -n team-a" in str(found.causes[0].remedy)


def test_storm_of_rejected_pods_is_seen_behind_pod_that_is_new() -> None:
    message = "Allocate failed: invalid request: maximum request size for shared resources is 1; found 2"
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": message}
    pods = [pod(f"main-7d-{n}", owner=("ReplicaSet", "main-7d"), node="a", status=status) for n in range(3)]
    new = pod("main-7d-new", owner=("ReplicaSet", "main-7d"))
    new["metadata"]["creationTimestamp"] = "2026-01-01T00:00:09Z"
    made = replica_set(status={"replicas": 1})
    assert causes(workload("Deployment"), made, *pods, new, kind="Deployment") == ["more-than-one-replica"]


def test_pods_of_others_do_not_count() -> None:
    stranger = pod("other-x", owner=("ReplicaSet", "other"), node="a", status={"phase": "Failed", "reason": "Evicted"})
    found = workload("StatefulSet", status={"replicas": 1, "readyReplicas": 1})
    assert causes(found, stranger, kind="StatefulSet") == ["nothing-wrong"]


def test_cron_job_is_asked_for_its_newest_job() -> None:
    jobs = [workload("Job", ("CronJob", "main"), f"main-{n}", status={"active": 1}) for n in (1, 2)]
    for number, one in enumerate(jobs):
        one["metadata"]["creationTimestamp"] = f"2026-01-0{number + 1}T00:00:00Z"
    status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 3}}}]}
    made = pod("main-2-x", owner=("Job", "main-2"), node="a", status=status)
    assert causes(workload("CronJob"), *jobs, made, kind="CronJob") == ["exit-code"]


def test_pod_without_node_shows_more_than_pods_that_start() -> None:
    """They are of one age, and those that start come last in the list."""
    owner = ("ReplicaSet", "main-7d")
    pending = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available",
    }
    creating = [{"name": "main", "restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}}]
    waits = pod("main-7d-a", owner=owner, status={"phase": "Pending", "conditions": [pending]})
    starts = [
        pod(f"main-7d-{name}", owner=owner, node="mps-1", status={"phase": "Pending", "containerStatuses": creating})
        for name in "zyx"
    ]
    of = workload("Deployment", spec={"replicas": 4}), replica_set(spec={"replicas": 4})
    found = ask(Recorded(*of, *starts[:2], waits, starts[2], node()), "Deployment")
    assert any("0/1 nodes" in line for one in found.causes for line in one.evidence)


UNADMITTED = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor default"


def kueue_workload(owner: tuple[str, str]) -> Object:
    """What Kueue admits in place of an object, and does not admit now."""
    waits = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": UNADMITTED}
    found = workload("Workload", owner, f"{owner[0].lower()}-main-4d6b", status={"conditions": [waits]})
    return {**found, "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": {"queueName": "team"}}


GATED = pod("main", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
SUSPENDED = workload("Job", spec={"suspend": True})


@pytest.mark.parametrize(("kind", "held"), [("Pod", GATED), ("Job", SUSPENDED)])
def test_workload_of_kueue_says_why_an_object_waits(kind: str, held: Object) -> None:
    strangers = kueue_workload(("Job", "other"))
    (cause,) = ask(Recorded(held, strangers, kueue_workload((kind, "main"))), kind).causes
    assert (cause.finding, cause.cause.endswith(UNADMITTED)) == ("queued", True)
    assert cause.evidence == [f"Workload {kind.lower()}-main-4d6b: QuotaReserved is False, reason Pending"]
    assert str(cause.remedy) == "kubectl describe localqueue team -n team-a"


def test_workload_of_earlier_job_does_not_answer() -> None:
    job = {**SUSPENDED, "metadata": {**SUSPENDED["metadata"], "uid": "new"}}
    earlier = kueue_workload(("Job", "main"))
    earlier["metadata"]["ownerReferences"][0]["uid"] = "old"
    assert "patch job/main" in str(ask(Recorded(job, earlier), "Job").causes[0].remedy)


def test_workload_of_group_names_pods_without_controller() -> None:
    group = kueue_workload(("Pod", "main"))
    group["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": name} for name in ("other", "main")]
    (cause,) = ask(Recorded(GATED, group)).causes
    assert cause.cause.endswith(UNADMITTED)


def test_object_without_a_workload_of_kueue() -> None:
    assert "patch job/main" in str(ask(Recorded(SUSPENDED, kueue_workload(("Job", "other"))), "Job").causes[0].remedy)
    (cause,) = ask(Recorded(GATED)).causes
    assert cause.cause == "Kueue holds the pod with the scheduling gate kueue.x-k8s.io/admission"
