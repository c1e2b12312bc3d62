"""Repeated `kubectl apply`, client-side and server-side: the webhook's edits cause no drift and no conflict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.manifests import GPU, pod
from tests.cluster.workloads import assert_completed, pod_of_workload, workload

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

pytestmark = pytest.mark.usefixtures("installed_webhook")
OURS = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
OWN = {"key": "team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
CLIENT_SIDE: list[str] = []
SERVER_SIDE = ["--server-side"]


@pytest.fixture(autouse=True)
def scratch(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl diff` writes files; in the cluster's namespaces only its own folder can be written."""
    monkeypatch.setenv("TMPDIR", str(cluster.inside.folder))


def _apply(space: Workspace, way: list[str], manifest: Object) -> str:
    return space.kubectl("apply", *way, "-f", "-", manifest=manifest)


def _identity(stored: Object) -> Object:
    """What changes in an object's metadata whenever something is written."""
    return {name: stored["metadata"].get(name) for name in ("uid", "resourceVersion", "generation", "managedFields")}


def test_server_dry_run_returns_mutated_pod_and_stores_nothing(space: Workspace) -> None:
    for verb in ("create", "apply"):
        answer = space.kubectl(verb, "--dry-run=server", "-o", "json", "-f", "-", manifest=workload("Pod"))
        assert_completed(json.loads(answer))
    assert space.api.items(space.pods) == []


@pytest.mark.parametrize("way", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])
def test_repeated_apply_of_pod_changes_nothing(space: Workspace, way: list[str]) -> None:
    _apply(space, way, pod("main"))
    space.wait_running("main")
    first = space.api.get(f"{space.pods}/main")
    assert space.kubectl("diff", *way, "-f", "-", manifest=pod("main")) == ""
    _apply(space, way, pod("main"))
    second = space.api.get(f"{space.pods}/main")
    assert _identity(second) == _identity(first)
    assert second["spec"] == first["spec"]
    assert_completed(second)


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_repeated_server_side_apply_of_workload_changes_nothing(space: Workspace, kind: str) -> None:
    _apply(space, SERVER_SIDE, workload(kind))
    if kind != "CronJob":
        pod_of_workload(space)
    applied = _applied(space, kind)
    assert space.kubectl("diff", *SERVER_SIDE, "-f", "-", manifest=workload(kind)) == ""
    _apply(space, SERVER_SIDE, workload(kind))
    assert _applied(space, kind) == applied
    assert len(space.api.items(space.pods)) == (kind != "CronJob"), "no rollout"


def _applied(space: Workspace, kind: str) -> tuple[Object, int, list[Object]]:
    """Spec, generation and field managers; the controller keeps writing the status."""
    stored = json.loads(space.kubectl("get", kind, "main", "-o", "json", "--show-managed-fields"))
    managed = [entry for entry in stored["metadata"]["managedFields"] if entry.get("subresource") != "status"]
    return stored["spec"], stored["metadata"]["generation"], managed


@pytest.mark.parametrize("way", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])
def test_repeated_apply_of_pod_with_tolerations_succeeds(space: Workspace, way: list[str]) -> None:
    manifest = pod("main", tolerations=[OWN])
    _apply(space, way, manifest)
    first = space.wait_running("main")
    assert [first["spec"]["tolerations"].count(each) for each in (OWN, OURS)] == [1, 1]
    for _ in range(2):
        _apply(space, way, manifest)
        again = space.api.get(f"{space.pods}/main")
        assert again["metadata"]["uid"] == first["metadata"]["uid"]
        assert [again["spec"]["tolerations"].count(each) for each in (OWN, OURS)] == [1, 1]
        assert_completed(again)
