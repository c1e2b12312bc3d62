"""Fresh installations, one after the other: ready means that the API server trusts, and nothing is left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.hooks import DRY_POD, is_mutated
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.release import NAME, NAMESPACE, inventory, prepared

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster

DRY_DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments?dryRun=All"
AT_ONCE = {"shutdownDelay": "0s"}

# cert-manager keeps the Secrets that it wrote, unless it is told to remove them with their Certificate.
KEPT = {"cert-manager": {f"Secret/{NAMESPACE}/{NAME}-{kind}" for kind in ("authority", "tls")}}


@pytest.mark.parametrize(("mode", "times"), [("self-managed", 20), ("existing-secret", 3), ("cert-manager", 3)])
def test_the_first_create_after_ready_never_fails_and_nothing_is_left(cluster: Cluster, mode: str, times: int) -> None:
    with prepared(cluster, mode, server=AT_ONCE) as release:
        before = inventory(cluster)
        for _ in range(times):
            release.upgrade()
            assert is_mutated(cluster.api.create(DRY_POD, pod("one")))
            with pytest.raises(ApiError, match="GPS001"):
                cluster.api.create(DRY_DEPLOYMENT, deployment("two", container(gpus=2)))
            release.uninstall()
        assert inventory(cluster) - before == KEPT.get(mode, set())
        assert not is_mutated(cluster.api.create(DRY_POD, pod("one")))
