"""`plan`: the changes, their text and the exit codes, with a stand-in for the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from charts.rights import READ, rules
from tests.cli.cluster import INSTALLED_AS, MPS_10, NODES, FakeCluster, mixed
from tests.cli.run import Ended, run
from tests.diagnose.objects import pod, workload

ON_MPS: dict[str, Any] = {"nodeSelector": {"nvidia.com/mps.capable": "true"}}
LABELS = {
    "nvidia.com/mps.capable": "true",
    "nvidia.com/gpu.sharing-strategy": "mps",
    "nvidia.com/gpu.replicas": "10",
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.memory": "16000",
    "nvidia.com/gpu.product": "Tesla-T4-SHARED",
}


@pytest.fixture
def cluster() -> FakeCluster:
    found = mixed()
    found.lists[NODES][1]["metadata"]["labels"] |= LABELS
    for path in (
        "apps/v1/statefulsets",
        "apps/v1/daemonsets",
        "apps/v1/replicasets",
        "batch/v1/jobs",
        "batch/v1/cronjobs",
    ):
        found.lists[f"/apis/{path}"] = []
    for plural in ("replicationcontrollers", "podtemplates"):
        found.lists[f"/api/v1/{plural}"] = []
    found.lists["/apis/apps/v1/deployments"] = [workload("llm", 1, namespace="team-b", **ON_MPS)]
    pods = [pod(f"p{number}", 1, namespace="team-b", node="mps-1", **ON_MPS) for number in range(4)]
    pods.append(pod("idle", 0))
    found.lists["/api/v1/pods"] = [*pods, pod("two", 2, namespace="team-a", node="mps-1", **ON_MPS)]
    return found


@pytest.fixture
def prod(prod: tuple[str, ...]) -> tuple[str, ...]:
    return (*prod, "--installed-as", INSTALLED_AS, "-A")


def plan(prod: tuple[str, ...], *options: str) -> Ended:
    return run("plan", *prod, *options)


@pytest.fixture
def four(here: Path) -> str:
    """A new configuration with fewer replicas."""
    (here / "four.yaml").write_text(MPS_10.replace("10", "4"))
    return "four.yaml"


def test_fewer_replicas_leave_pods_without_room(prod: tuple[str, ...], four: str) -> None:
    ended = plan(prod, "--device-plugin-config", four, "-o", "json")
    found = ended.json()
    assert (ended.code, found["kind"], found["worse"]) == (1, "PlanReport", True)
    assert [one for one in found["nodes"] if one["node"] == "mps-1"] == [
        {
            "node": "mps-1",
            "resource": "nvidia.com/gpu",
            "before": {"strategy": "mps", "total": 10, "shareMiB": 1600},
            "after": {"strategy": "mps", "total": 4, "shareMiB": 4000},
            "held": 6,
        }
    ]
    (unfit,) = found["unfit"]
    assert (unfit["held"], unfit["total"], unfit["podCount"]) == (6, 4, 5)
    assert unfit["pods"][0] == {"namespace": "team-a", "name": "two"}


def test_text_shows_only_changes(prod: tuple[str, ...], four: str) -> None:
    ended = plan(prod, "--device-plugin-config", four)
    assert "  mps-1  nvidia.com/gpu  mps " in ended.out
    assert "10 -> 4" in ended.out
    assert "1600 MiB -> 4000 MiB" in ended.out
    assert "  mps-1: 6 of nvidia.com/gpu held, 4 offered: team-a/two, team-b/p0, team-b/p1" in ended.out
    assert "Restart the device plugin in this order:\n" in ended.out
    assert "mps-1: 6 replicas held; drain it first" in ended.out


def test_text_of_renamed_resource(prod: tuple[str, ...], here: Path) -> None:
    (here / "renamed.yaml").write_text(MPS_10.replace("  mps:", "  timeSlicing:\n    renameByDefault: true"))
    ended = plan(prod, "--device-plugin-config", "renamed.yaml")
    assert ["mps-1", "nvidia.com/gpu.shared", "?", "->", "time-slicing"] in [
        line.split()[:5] for line in ended.out.splitlines()
    ]
    assert "  nvidia.com/gpu.shared: 0 -> 10 in all; pods ask for 0\n" in ended.out


def test_same_configuration_changes_nothing(prod: tuple[str, ...], here: Path) -> None:
    (here / "ten.yaml").write_text(MPS_10)
    ended = plan(prod, "--device-plugin-config", "ten.yaml")
    assert (ended.code, ended.out) == (0, "nothing changes\n")


def test_configuration_that_the_plugin_refuses_is_an_error(prod: tuple[str, ...], here: Path) -> None:
    (here / "one.yaml").write_text(MPS_10.replace("10", "1"))
    ended = plan(prod, "--device-plugin-config", "one.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("one.yaml:5:")


def test_enforce_shows_new_denials(prod: tuple[str, ...]) -> None:
    ended = plan(prod, "--enforce")
    assert ended.code == 1
    assert "Verdicts:\n  newly denied: Pod team-a/two\n    + GPS001 deny: " in ended.out
    (change,) = plan(prod, "--enforce", "-o", "json").json()["verdicts"]
    assert (change["change"], change["object"]["name"], change["before"]["decision"]) == ("denied", "two", "allowed")


def test_new_settings_admit(prod: tuple[str, ...], here: Path) -> None:
    (here / "new.yaml").write_text("limits: {perContainer: 2, perPod: 2}\n")
    strict = plan(prod, "--config", "new.yaml", "--enforce", "-o", "json")
    assert (strict.code, strict.json()["verdicts"]) == (0, [])


def test_fit_counts_free_replicas(prod: tuple[str, ...], here: Path, four: str) -> None:
    manifest = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: team-b}\nspec:\n  parallelism: 3\n"
    manifest += "  completions: 3\n  template:\n    spec:\n      nodeSelector: {nvidia.com/mps.capable: 'true'}\n"
    manifest += "      containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]\n"
    (here / "job.yaml").write_text(manifest)
    ended = plan(prod, "--fit", "job.yaml")
    assert (ended.code, ended.out) == (0, "Pods of the manifests:\n  Job team-b/j: 3 of 3 fit: mps-1 (3)\n")
    smaller = plan(prod, "--fit", "job.yaml", "--device-plugin-config", four, "-o", "json").json()["fits"]
    assert [(one["wanted"], one["fitting"], one["nodes"]) for one in smaller] == [(3, 0, [])]


def test_fit_in_one_namespace_counts_pods_of_all(prod: tuple[str, ...], here: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec:\n  nodeSelector: {nvidia.com/mps.capable: 'true'}\n"
    (here / "pod.yaml").write_text(pod + "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]\n")
    ended = run("plan", *prod[:-1], "-n", "team-b", "--fit", "pod.yaml")
    assert (ended.code, ended.out) == (0, "Pods of the manifests:\n  Pod team-b/more: 1 of 1 fit: mps-1 (1)\n")
    missing = run("plan", *prod, "--fit", "missing.yaml")
    assert (missing.code, "missing.yaml: " in missing.err) == (2, True)


def test_fit_counts_processors_defaults_and_quotas(cluster: FakeCluster, prod: tuple[str, ...], here: Path) -> None:
    for node in cluster.lists[NODES]:
        node["status"]["allocatable"]["cpu"] = "8"
    cluster.lists["/api/v1/pods"][0]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"
    limits = {"limits": [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}}]}
    lists = {
        "limitranges": [{"metadata": {"name": "defaults", "namespace": "team-b"}, "spec": limits}],
        "resourcequotas": [{"metadata": {"name": "team", "namespace": "team-b"}, "spec": {"hard": {"pods": "5"}}}],
    }
    cluster.lists |= {f"/api/v1/namespaces/team-b/{plural}": found for plural, found in lists.items()}
    manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: team-b}\nspec:\n  replicas: 6\n"
    manifest += "  template:\n    spec:\n      nodeSelector: {nvidia.com/mps.capable: 'true'}\n"
    manifest += "      containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]\n"
    (here / "d.yaml").write_text(manifest)
    ended = plan(prod, "--fit", "d.yaml")
    assert ended.out == (
        "Pods of the manifests:\n  Deployment team-b/d: 3 of 6 fit: mps-1 (3); ResourceQuota team admits 5 of 6: "
        "0 of 5 pods used; devices of DeviceClasses are not counted: nvidia.com/gpu; "
        "no room for 2: too little cpu on 1 of 1 node\n"
    )
    assert ended.code == 1
    allowed = {(group, one) for rule in rules(READ["plan"]) for group in rule["apiGroups"] for one in rule["resources"]}
    assert {("", plural) for plural in (*lists, "nodes", "pods")} | {("node.k8s.io", "runtimeclasses")} <= allowed


def test_fit_reads_no_nodes_that_are_left_out(cluster: FakeCluster, prod: tuple[str, ...], here: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec:\n"
    (here / "pod.yaml").write_text(pod + "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]\n")
    ended = plan(prod, "--fit", "pod.yaml", "--without", "nodes", "-o", "json")
    assert ended.json()["fits"][0]["notes"][-1] == "no room for 1: no node is known"
    assert NODES not in cluster.asked


def test_fit_without_the_right_to_read_quotas_says_so(cluster: FakeCluster, prod: tuple[str, ...], here: Path) -> None:
    cluster.refused["/api/v1/namespaces/default/resourcequotas"] = 403
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec:\n  nodeSelector: {nvidia.com/mps.capable: 'true'}\n"
    (here / "pod.yaml").write_text(pod + "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]\n")
    found = plan(prod, "--fit", "pod.yaml", "-o", "json").json()
    assert found["fits"][0]["fitting"] == 1
    assert [one["what"] for one in found["leftOut"]] == ["resourcequotas in namespace default"]


def test_change_is_needed(prod: tuple[str, ...]) -> None:
    ended = plan(prod)
    assert ended.code == 2
    assert "name a change: --device-plugin-config, --config or --enforce; or name pods: --fit" in ended.err


def test_missing_rights_are_left_out(cluster: FakeCluster, prod: tuple[str, ...], four: str) -> None:
    cluster.refused[NODES] = 403
    found = plan(prod, "--device-plugin-config", four, "-o", "json").json()
    assert found["nodes"] == []
    assert [one["what"] for one in found["leftOut"]] == ["nodes"]
