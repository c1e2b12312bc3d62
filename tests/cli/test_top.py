"""`top` against a cluster: options, rights, formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.cluster import NODES, FakeCluster, mixed
from tests.cli.run import run
from tests.diagnose.cluster_objects import pod

PODS = "/api/v1/pods"
IN_NAMESPACE = "/api/v1/namespaces/team-a/pods"
REPLICA_SETS = "/apis/apps/v1/replicasets"


@pytest.fixture
def cluster() -> FakeCluster:
    found = mixed()
    own = [pod("a", node="mps-1", owner=("ReplicaSet", "web-1")), pod("b", node="mps-1")]
    found.lists[PODS] = [*own, pod("c", node="whole-1", namespace="team-b")]
    found.lists[IN_NAMESPACE] = own
    metadata = {"namespace": "team-a", "name": "web-1"}
    owner = [{"kind": "Deployment", "name": "web", "controller": True}]
    found.lists[REPLICA_SETS] = [{"metadata": {**metadata, "ownerReferences": owner}}]
    return found


def test_nodes_show_holders_of_all_namespaces(prod: tuple[str, ...]) -> None:
    ended = run("top", "-n", "team-a", *prod)
    assert ended.code == 0
    assert [line.split()[:4] for line in ended.out.splitlines()[1:]] == [
        ["mps-1", "mps", "nvidia.com/gpu", "2/10"],
        ["whole-1", "?", "nvidia.com/gpu", "1/4"],
    ]


def test_user_of_one_namespace_gets_its_pods(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused[PODS] = 403
    ended = run("top", "-n", "team-a", "-o", "json", *prod)
    report = ended.json()
    assert [(row["node"], row["held"]) for row in report["rows"]] == [("mps-1", 2), ("whole-1", 0)]
    (why,) = [one["why"] for one in report["leftOut"] if one["what"] == "pods in all namespaces"]
    assert why.endswith('{apiGroups: [""], resources: [pods], verbs: [get, list]}')


@pytest.mark.parametrize("path", [PODS, NODES])
def test_missing_right_names_rule_on_standard_error(cluster: FakeCluster, prod: tuple[str, ...], path: str) -> None:
    cluster.refused[path] = 403
    ended = run("top", "-A", *prod)
    assert ended.code == 2
    assert ended.out.endswith("incomplete: 1 part of the cluster could not be read, which may change this answer\n")
    assert f"resources: [{path.rpartition('/')[2]}]" in ended.err


def test_owners_are_topmost(prod: tuple[str, ...]) -> None:
    ended = run("top", "-A", "--by", "owner", "-o", "json", *prod)
    assert [row["owner"] for row in ended.json()["rows"]] == ["team-a/Deployment/web", "team-a/Pod/b", "team-b/Pod/c"]


def test_installed_settings_apply(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.objects["/api/v1/namespaces/gpushare-webhook/configmaps/gpushare-webhook"] = {
        "data": {"settings.yaml": "resources:\n- {name: example.com/gpu, kind: shared}\n"}
    }
    ended = run("top", "-A", *prod)
    assert ended.out == "no GPU resources are offered or held\n"


def test_namespace_and_all_namespaces_exclude_each_other(prod: tuple[str, ...]) -> None:
    ended = run("top", "-n", "team-a", "-A", *prod)
    assert (ended.code, "leave out one" in ended.err) == (2, True)


def test_unreachable_cluster_is_an_error(here: Path) -> None:
    ended = run("top", "--kubeconfig", "missing")
    assert (ended.code, "no such file" in ended.err) == (2, True)
