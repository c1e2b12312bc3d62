"""Repeated installations: the API server trusts a ready webhook, and nothing is left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.creates import creating, lost
from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import DRY_POD, is_mutated, namespace
from tests.cluster.harness.inventory import inventory, wait_left
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.release import CORE, NAME, NAMESPACE, RELEASE, prepared
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

DRY_DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments?dryRun=All"
AT_ONCE = {"shutdownDelay": "0s"}

# cert-manager keeps the Secrets that it wrote, unless it is configured to remove them with their Certificate.
KEPT = {"cert-manager": {f"Secret/{NAMESPACE}/{NAME}-{kind}" for kind in ("authority", "tls")}}


MANY = [("self-managed", 20), ("existing-secret", 3), ("cert-manager", 3)]


@pytest.mark.parametrize(
    ("mode", "times"), [("self-managed", 2), *(pytest.param(*one, marks=pytest.mark.exhaustive) for one in MANY)]
)
def test_first_create_after_install_succeeds_and_uninstall_cleans_up(cluster: Cluster, mode: str, times: int) -> None:
    with prepared(cluster, mode, server=AT_ONCE) as release:
        before = inventory(cluster)
        for _ in range(times):
            release.upgrade()
            assert is_mutated(cluster.api.create(DRY_POD, pod("one")))
            with pytest.raises(ApiError, match="GPS001"):
                cluster.api.create(DRY_DEPLOYMENT, deployment("two", container(gpus=2)))
            release.uninstall()
        wait_left(cluster, before, KEPT.get(mode, set()))
        assert not is_mutated(cluster.api.create(DRY_POD, pod("one")))


def test_namespace_override_installs_outside_release_namespace(cluster: Cluster) -> None:
    with prepared(cluster, "self-managed", server=AT_ONCE) as release, namespace(cluster, "releases") as path:
        release.helm = Helm(cluster, "releases")
        said = release.upgrade({"namespaceOverride": NAMESPACE})
        assert f"is installed as {NAMESPACE}/{NAME}" in said
        assert len(release.pods()) == 2
        assert is_mutated(cluster.api.create(DRY_POD, pod("one")))
        release.helm("test", RELEASE, "--timeout=180s")
        assert [one for one in release.asked() if one.refused] == []
        assert cluster.api.items(f"{path}/services") == []
        release.uninstall()


def test_deleted_authority_secret_is_recreated_without_lost_creates(cluster: Cluster, space: Workspace) -> None:
    """Also where a policy limits what the replicas may patch."""
    secret = f"{CORE}/secrets/{NAME}-ca"
    with prepared(cluster, "self-managed", server=AT_ONCE, tls={"settle": "5s"}) as release:
        before = inventory(cluster)
        release.upgrade({"rbac": {"limitPatches": True}})
        former = {server.leaf() for server in release.servers()}
        with creating(space) as creates:
            cluster.api.delete(secret)
            wait_for("new certificates", lambda: former.isdisjoint(server.leaf() for server in release.servers()))
            creates.wait_for_more()
        assert lost(creates.answered) == []
        (owner,) = cluster.api.get(secret)["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("Deployment", NAME)
        assert [one for one in release.asked() if one.refused] == []
        # A single RuntimeClass is never read; `get` comes with the right to read them all.
        asked = {(one.verb, one.group, one.resource) for one in release.asked()}
        unused = {("get", "node.k8s.io", "runtimeclasses"), ("create", "", "events")}  # no settings are refused here
        assert release.granted() - asked == unused
        release.uninstall()
        cluster.api.delete(space.pods)
        wait_left(cluster, before, set())
