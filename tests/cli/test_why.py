"""`why` against a cluster and from files: options, rights, names, hostile text, formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from tests.cli.cluster import NODES, FakeCluster, mixed
from tests.cli.run import run
from tests.diagnose.cluster_objects import GPU, Object, container, pod
from tests.diagnose.why.recorded import bound, event, state, unscheduled
from webhook.cli import extras

TEAM = "/api/v1/namespaces/team-a"
POD = f"{TEAM}/pods/main"
EVENTS = f"{TEAM}/events"
PODS = "/api/v1/pods"
IN_NAMESPACE = f"{TEAM}/pods"
REPLICA_SET = "/apis/apps/v1/namespaces/team-a/replicasets/main-7d"
LOG = f"{TEAM}/pods/crashed/log"
MESSAGE = f"0/3 nodes are available: 1 Insufficient {GPU}, 2 node(s) had untolerated taint {{team: ml}}."
HOLDER = pod("train", container("main", 10), node="mps-1", namespace="team-b")


def crashed() -> Object:
    found = bound(phase="Failed", states=[state(state={"terminated": {"exitCode": 1, "reason": "Error"}})])
    found["metadata"]["name"] = "crashed"
    return found


@pytest.fixture
def cluster() -> FakeCluster:
    found = mixed()
    main = unscheduled(MESSAGE)
    main["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "main-7d", "controller": True}]
    found.objects[POD] = main
    owner = [{"kind": "Deployment", "name": "web", "controller": True}]
    metadata = {"name": "main-7d", "namespace": "team-a", "ownerReferences": owner}
    found.objects[REPLICA_SET] = {"metadata": metadata}
    deployment = {"metadata": {"name": "web", "namespace": "team-a"}, "spec": {"replicas": 0}}
    found.objects["/apis/apps/v1/namespaces/team-a/deployments/web"] = deployment
    found.lists["/apis/apps/v1/namespaces/team-a/replicasets"] = []
    found.lists[EVENTS] = [event("FailedScheduling", MESSAGE)]
    found.lists[PODS] = [HOLDER, main]
    found.lists[IN_NAMESPACE] = [main]
    found.objects[f"{TEAM}/pods/crashed"] = crashed()
    found.objects[LOG] = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"  # type: ignore[assignment]
    return found


@pytest.fixture
def prod(prod: tuple[str, ...]) -> tuple[str, ...]:
    return (*prod, "-n", "team-a")


def causes(*arguments: Any) -> list[str]:
    ended = run("why", *arguments, "-o", "json")
    assert ended.code == 1, ended.err
    return [one["cause"] for one in ended.json()["causes"]]


def test_text_is_cause_evidence_and_remedy(prod: tuple[str, ...]) -> None:
    ended = run("why", "main", *prod)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "pod team-a/main is Pending: others hold the replicas of nvidia.com/gpu on the only node that could take the "
        "pod: 10 in all (replicas-held)",
        "  - node mps-1: 10 of 10 held by team-b/train (10)",
        f"  - scheduler: {MESSAGE}",
        "  do: if the pod that holds them is not needed: kubectl delete pod train -n team-b",
    ]


@pytest.mark.parametrize("words", [("pod/main",), ("po", "main"), ("pods.v1/main",), ("main",)])
def test_spellings_of_type(words: tuple[str, ...], prod: tuple[str, ...]) -> None:
    assert causes(*words, *prod) == ["replicas-held"]


def test_json_report(prod: tuple[str, ...]) -> None:
    written = run("why", "main", *prod, "-o", "json").json()
    assert written["kind"] == "WhyReport"
    assert written["object"] == {"kind": "Pod", "namespace": "team-a", "name": "main"}
    assert written["state"] == "Pending"


def test_workload_is_found_by_type(prod: tuple[str, ...]) -> None:
    assert causes("deploy/web", *prod) == ["scaled-to-zero"]


def test_all_namespaces_are_searched(prod: tuple[str, ...]) -> None:
    *options, _, _ = prod
    assert causes("main", *options, "-A") == ["replicas-held"]
    assert run("why", "mine", *options, "-A").code == 2


def test_log_is_read_on_demand(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    assert causes("crashed", *prod) == ["exit-code"]
    assert LOG not in cluster.asked
    assert causes("crashed", *prod, "--logs") == ["cuda-busy", "exit-code"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (PODS, "resources: [pods]"),
        (NODES, "resources: [nodes]"),
        (EVENTS, "resources: [events]"),
        (REPLICA_SET, "resources: [replicasets]"),
    ],
)
def test_missing_right_is_named_and_rest_is_used(
    cluster: FakeCluster, prod: tuple[str, ...], path: str, rule: str
) -> None:
    cluster.refused[path] = 403
    ended = run("why", "main", *prod, "-o", "json")
    assert ended.code == 1
    assert ended.json()["causes"][0]["cause"] == "replicas-held"
    assert [one for one in ended.json()["leftOut"] if rule in one["why"]] != []
    assert rule in run("why", "main", *prod).err


def test_missing_right_on_logs_is_named(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused[LOG] = 403
    ended = run("why", "crashed", *prod, "--logs")
    assert ended.code == 1
    assert "(exit-code)" in ended.out
    assert 'a Role in namespace team-a: {apiGroups: [""], resources: [pods/log], verbs: [get]}' in ended.err


def test_missing_right_on_object_itself_is_an_error(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused[POD] = 403
    ended = run("why", "main", *prod)
    assert (ended.code, ended.out) == (2, "")
    assert "pod main cannot be read: 403" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mian",), 'pod mian does not exist in namespace team-a; did you mean "main"?'),
        (("ma",), "does not exist in namespace team-a"),
        (("sts/main",), "statefulset main does not exist"),
        (("node/mps-1",), '"kubectl gpushare doctor" checks nodes'),
        (("deplyoment/web",), 'did you mean "deployment"?'),
        (("pod/main", "x"), "name one object"),
        (("a", "b", "c"), "name one object"),
        ((), "name a pod or workload"),
        (("main", "-l", "app=x"), "name one object instead"),
        (("main", "--facts", "facts.yaml"), "add -f FILE"),
    ],
)
def test_wrong_names_and_options(prod: tuple[str, ...], words: tuple[str, ...], message: str) -> None:
    ended = run("why", *words, *prod)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = f"{KUEUE}/namespaces/team-a/workloads"


def test_workload_of_kueue_is_read_where_the_cluster_has_kueue(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    gated = pod("main", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    cluster.objects[POD] = gated
    assert run("why", "main", *prod).out.splitlines()[0].endswith("gate kueue.x-k8s.io/admission (queued)")
    owners = [{"kind": "Pod", "name": "main", "controller": True}]
    waits = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no quota is left"}
    of_pod = {"metadata": {"name": "pod-main", "ownerReferences": owners}, "status": {"conditions": [waits]}}
    cluster.objects[KUEUE] = {"kind": "APIResourceList", "resources": [{"name": "workloads", "kind": "Workload"}]}
    cluster.lists[WORKLOADS] = [of_pod]
    ended = run("why", "main", *prod)
    assert "gate kueue.x-k8s.io/admission: no quota is left (queued)" in ended.out
    cluster.refused[WORKLOADS] = 403
    ended = run("why", "main", *prod)
    assert (ended.code, "no quota is left" in ended.out, "resources: [workloads]" in ended.err) == (1, False, True)


HOSTILE = "\x1b[31m\n::error::owned\r##[group]" + "x" * 2**20


def test_hostile_text_is_cut_and_printable(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    hostile = unscheduled(f"0/1 nodes are available: 1 {HOSTILE}", container(HOSTILE[:999]))
    cluster.objects[POD] = hostile
    cluster.lists[EVENTS] = [event("FailedScheduling", HOSTILE)]
    ended = run("why", "main", *prod)
    assert ended.code == 1
    assert len(ended.out) < 20_000
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in ended.out.splitlines())
    assert "\x1b" not in ended.out
    report = run("why", "main", *prod, "-o", "json").out
    assert len(report) < 40_000
    assert "##[" not in report
    assert "\x1b" not in report


def test_hostile_name_is_printable(prod: tuple[str, ...]) -> None:
    ended = run("why", "\x1b]0;x\n::error::", *prod)
    assert ended.code == 2
    assert "\x1b" not in ended.err


@pytest.fixture
def saved(here: Path) -> Path:
    """Files with a pod, its events as a list, and facts."""
    (here / "pod.yaml").write_text(yaml.safe_dump(unscheduled(MESSAGE)))
    events = {"apiVersion": "v1", "kind": "List", "items": [event("FailedScheduling", MESSAGE)]}
    (here / "events.yaml").write_text(yaml.safe_dump(events))
    nodes = [{"name": "mps-1", "labels": {"pool": "a"}, "resources": {GPU: 10}}]
    (here / "facts.yaml").write_text(yaml.safe_dump({"nodes": nodes}))
    return here


def test_saved_objects_answer(saved: Path) -> None:
    assert causes("-f", "pod.yaml", "-f", "events.yaml", "--facts", "facts.yaml") == ["replicas-held"]
    assert causes("-f", ".", "main", "--facts", "facts.yaml") == ["replicas-held"]


def test_facts_of_file_decide(saved: Path) -> None:
    (saved / "facts.yaml").write_text(
        yaml.safe_dump({"nodes": [{"name": "a", "resources": {"nvidia.com/gpu.shared": 4}}]})
    )
    ended = run("why", "-f", "pod.yaml", "--facts", "facts.yaml")
    assert "ask for nvidia.com/gpu.shared" in ended.out
    assert "not read: events: not in the files" in ended.err


def test_standard_input_holds_objects(saved: Path) -> None:
    ended = run("why", "-f", "-", "-o", "json", stdin=(saved / "pod.yaml").read_bytes())
    assert [one["cause"] for one in ended.json()["causes"]] == ["replicas-held", "taint"]


def test_saved_objects_need_no_libraries_of_clusters(saved: Path) -> None:
    with mock.patch.object(extras, "find_spec", return_value=None):
        assert causes("-f", "pod.yaml") == ["replicas-held", "taint"]
        ended = run("why", "main")
    assert ended.code == 2
    assert "install gpushare-webhook[cluster]" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-f", "pod.yaml", "other"), "the files hold main"),
        (("-f", "pod.yaml", "mian"), 'did you mean "main"?'),
        (("-f", "events.yaml"), "the files hold no pod and no workload"),
        (("-f", "pod.yaml", "-f", "second.yaml"), "name one of the objects: pod/main, pod/second"),
        (("-f", "pod.yaml", "--logs"), "leave out -f"),
        (("-f", "pod.yaml", "--context", "prod"), "leave out the options of a cluster"),
        (("-f", "missing.yaml"), "missing.yaml"),
        (("-f", "pod.yaml", "--facts", "pod.yaml"), "pod.yaml"),
        (("-f", "-", "--facts", "-"), "standard input can be read only once"),
    ],
)
def test_wrong_files(saved: Path, arguments: tuple[str, ...], message: str) -> None:
    second = pod("second")
    (saved / "second.yaml").write_text(yaml.safe_dump(second))
    ended = run("why", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_only_object_without_owner_in_files_is_meant(saved: Path) -> None:
    made = unscheduled(MESSAGE)
    made["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "main-7d", "controller": True}]
    made["metadata"]["name"] = "main-7d-x"
    metadata = {"name": "main-7d", "namespace": "team-a"}
    maker = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "status": {"replicas": 1}}
    (saved / "pod.yaml").write_text(yaml.safe_dump_all([made, maker]))
    ended = run("why", "-f", "pod.yaml", "-o", "json")
    assert ended.json()["object"]["kind"] == "ReplicaSet"
    assert ended.json()["causes"][0]["cause"] == "replicas-held"
