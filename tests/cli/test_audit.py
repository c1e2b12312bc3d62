"""`audit`: the options, the formats and the exit codes, with a stand-in for the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.cluster import INSTALLED_AS, SETTINGS, FakeCluster, mixed
from tests.cli.run import Ended, run
from tests.diagnose.objects import pod, workload

ON_MPS: dict[str, Any] = {"nodeSelector": {"nvidia.com/mps.capable": "true"}}


@pytest.fixture
def cluster() -> FakeCluster:
    found = mixed()
    deployment = workload("llm", 2, namespace="team-b", **ON_MPS)
    replica_set = workload("llm-1", 2, ("apps/v1", "Deployment", "llm"), namespace="team-b", **ON_MPS)
    owner = ("apps/v1", "ReplicaSet", "llm-1")
    pods = [pod(f"llm-1-{number}", 2, owner, namespace="team-b", **ON_MPS) for number in range(40)]
    for path, objects in {
        "/apis/apps/v1/deployments": [deployment],
        "/apis/apps/v1/replicasets": [replica_set],
        "/api/v1/pods": [*pods, pod("two", 2, namespace="team-a", **ON_MPS), pod("sys", 2, namespace="kube-system")],
        **{
            f"/{path}": []
            for path in (
                *(f"apis/apps/v1/{one}" for one in ("statefulsets", "daemonsets")),
                *(f"apis/batch/v1/{one}" for one in ("jobs", "cronjobs")),
                *(f"api/v1/{one}" for one in ("replicationcontrollers", "podtemplates")),
            )
        },
    }.items():
        found.lists[path] = objects
        *before, plural = path.split("/")
        for namespace in ("team-a", "team-b", "default"):
            found.lists["/".join([*before, "namespaces", namespace, plural])] = [
                one for one in objects if one["metadata"]["namespace"] == namespace
            ]
    return found


@pytest.fixture
def prod(prod: tuple[str, ...]) -> tuple[str, ...]:
    return (*prod, "--installed-as", INSTALLED_AS)


def audit(prod: tuple[str, ...], *options: str) -> Ended:
    return run("audit", *prod, *options)


def lines(found: Any) -> list[tuple[str, str, int, str]]:
    return [
        (one["object"]["namespace"], f"{one['object']['kind']}/{one['object']['name']}", one["pods"], one["decision"])
        for one in found["results"]
    ]


def test_deployment_with_40_pods_is_one_line(prod: tuple[str, ...]) -> None:
    ended = audit(prod, "-A", "-o", "json")
    found = ended.json()
    assert lines(found) == [
        ("kube-system", "Pod/sys", 1, "allowed"),
        ("team-a", "Pod/two", 1, "allowed"),  # the namespace is in the mode audit
        ("team-b", "Deployment/llm", 40, "denied"),
    ]
    assert (ended.code, found["kind"]) == (1, "AuditReport")
    assert found["summary"] == {"objects": 3, "pods": 42, "allowed": 2, "warned": 0, "denied": 1, "error": 0}
    assert found["leftOut"] == []


def test_mode_enforce_raises_modes_of_namespaces(prod: tuple[str, ...]) -> None:
    found = audit(prod, "-n", "team-a", "-o", "json", "--mode", "enforce")
    assert (found.code, lines(found.json())) == (1, [("team-a", "Pod/two", 1, "denied")])
    assert audit(prod, "-n", "team-a", "-o", "json").code == 0


def test_text_names_owner_finding_remedy_and_exempt_objects(prod: tuple[str, ...]) -> None:
    ended = audit(prod, "-A")
    assert "denied: Deployment team-b/llm, 40 pods\n  GPS001 deny: " in ended.out
    assert "Remedies (gpushare-webhook explain CODE tells more):\n  GPS001 " in ended.out
    assert "1 object exempt: the namespace is listed in exempt.namespaces (kube-system)" in ended.out
    assert ended.out.endswith("3 objects with 42 pods: 2 allowed, 1 denied\n")
    assert ended.err == ""


def test_unreadable_kind_is_left_out_with_its_rule(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused["/apis/apps/v1/deployments"] = 403
    found = audit(prod, "-A", "-o", "json").json()
    assert ("team-b", "ReplicaSet/llm-1", 40, "denied") in lines(found)
    (left_out,) = found["leftOut"]
    assert left_out["what"] == "deployments in all namespaces"
    assert 'apiGroups: ["apps"], resources: [deployments], verbs: [get, list]' in left_out["why"]
    assert "not read: deployments in all namespaces: 403" in audit(prod, "-A").err


def test_rights_in_one_namespace_audit_it(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    for path in [one for one in cluster.lists if "/namespaces/" not in one]:
        cluster.refused[path] = 403
    cluster.refused[SETTINGS] = 403
    ended = run("audit", *prod[:4], "-n", "team-b", "-o", "json")
    assert lines(ended.json()) == [("team-b", "Deployment/llm", 40, "denied")]
    assert {one["what"] for one in ended.json()["leftOut"]} >= {"nodes", "namespaces"}


def test_nothing_readable_is_an_error(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    for path in list(cluster.lists):
        if "/namespaces/" in path:
            cluster.refused[path] = 403
    ended = audit(prod, "-n", "team-b")
    assert ended.code == 2
    assert "pods in namespace team-b: 403: not allowed to list pods; add this rule to a Role" in ended.err
