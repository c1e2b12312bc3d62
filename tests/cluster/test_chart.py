"""The chart on a real cluster, in each certificate mode: the installation works and has the rights that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.hooks import is_mutated, namespace
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.release import CORE, MODES, NAME, NAMESPACE, RELEASE, prepared
from tests.cluster.workloads import assert_completed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace


@pytest.fixture(scope="module", params=MODES)
def release(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Release]:
    with prepared(cluster, request.param) as release:
        release.upgrade()
        yield release


def test_replicas_run_under_service_account_of_chart(release: Release) -> None:
    pods = release.pods()
    assert len(pods) == 2
    assert {one["spec"]["serviceAccountName"] for one in pods} == {NAME}
    enforced = release.cluster.api.get(CORE)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    assert enforced == "restricted"


def test_root_file_system_is_read_only(release: Release) -> None:
    for one in release.pods():
        command = ["exec", one["metadata"]["name"], "--", "python3", "-c", "open('/tmp/file', 'w')"]
        done = release.cluster.kubectl.run(f"--namespace={NAMESPACE}", *command)
        assert "Read-only file system" in done.stderr


def test_pod_is_mutated_and_workload_over_limit_is_rejected(release: Release, space: Workspace) -> None:
    assert_completed(space.start(pod("one")))
    with pytest.raises(ApiError, match="GPS001"):
        space.api.create(space.pods, pod("two", container(gpus=2)))
    with pytest.raises(ApiError, match="GPS001"):
        space.api.create(f"/apis/apps/v1/namespaces/{space.name}/deployments", deployment("two", container(gpus=2)))
    assert release.pods()


def test_pod_runs_without_warning_where_pod_security_forbids_host_path(release: Release) -> None:
    name = f"restricted-{release.mode}"
    with namespace(release.cluster, name, **{"pod-security.kubernetes.io/enforce": "restricted"}) as path:
        done = release.cluster.kubectl.run(f"--namespace={name}", "create", "-f", "-", manifest=pod("one", _modest()))
        assert done.stderr == "", "the device plugin mounts the directory itself"
        runs = lambda one: one["status"].get("phase") == "Running"  # noqa: E731
        stored = release.cluster.api.wait_for(f"{path}/pods/one", "to run", runs)
        assert is_mutated(stored)
        assert "hostPath" not in str(stored["spec"])


def _modest() -> Object:
    """A container as the restricted profile wants it."""
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    user = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    return container(securityContext=closed | user)


def test_helm_test_passes_and_cleans_up(release: Release) -> None:
    release.helm("test", RELEASE, "--timeout=180s")
    left = release.cluster.kubectl("get", "pod,serviceaccount", f"--namespace={NAMESPACE}", "--output=name")
    assert "-test" not in left


@pytest.mark.parametrize("kind", ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"])
def test_only_self_managed_account_may_patch_its_configurations(release: Release, kind: str) -> None:
    self_managed = release.mode == "self-managed"
    assert _may(release, "patch", f"{kind}/{NAME}") is self_managed
    assert not _may(release, "patch", f"{kind}/other")
    assert not _may(release, "delete", f"{kind}/{NAME}")
    assert not _may(release, "create", kind)


def _may(release: Release, verb: str, what: str) -> bool:
    """Whether the webhook's service account has a right."""
    account = f"--as=system:serviceaccount:{NAMESPACE}:{NAME}"
    answer = release.cluster.kubectl.run("auth", "can-i", verb, what, account)
    assert answer.stdout.strip() in ("yes", "no"), answer.stderr
    return answer.stdout.strip() == "yes"


def test_requests_of_service_accounts_match_their_rights(release: Release) -> None:
    asked = release.asked()
    assert [one for one in asked if one.refused] == []
    tokens = [one["spec"].get("automountServiceAccountToken") for one in release.pods()]
    assert bool(asked) == all(tokens)
