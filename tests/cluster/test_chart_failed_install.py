"""A first installation that fails, with the commands of the page: GPU pods are created as before."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.creates import creating
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.release import CHART, NAME, RELEASE, prepared
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

GUARD = {"auto": {"enabled": "auto"}, "none": {"enabled": False}}
INSTALL = ("install", RELEASE, str(CHART), "--disable-openapi-validation")


@contextmanager
def _failing(cluster: Cluster, how: str) -> Iterator[tuple[Release, Object]]:
    """What the installation needs, and the values that make it fail."""
    with prepared(cluster, "existing-secret" if how == "certificate" else "self-managed") as release:
        if how == "image":
            yield release, {"image": {"tag": "no-such-tag", "pullPolicy": "IfNotPresent"}}
        elif how == "right":
            yield release, {"rbac": {"create": False}}
        else:
            other = Authority.create("other", datetime.now(UTC), timedelta(days=1))
            yield release, {"tls": {"existingSecret": {"caBundle": other.bundle().decode()}}}


@pytest.mark.parametrize("guard", GUARD)
@pytest.mark.parametrize("how", ["image", "right", "certificate"])
def test_failed_installation_leaves_cluster_that_creates_gpu_pods(
    cluster: Cluster, space: Workspace, how: str, guard: str
) -> None:
    with _failing(cluster, how) as (release, values), creating(space, rate=5) as creates:
        given = (*release.values, values, {"guard": GUARD[guard]})
        done = release.helm.run(*INSTALL, "--wait", "--timeout=25s", "--rollback-on-failure", values=given)
        if how == "certificate":  # the replicas serve, and the API server does not trust them
            assert done.returncode == 0, done.stderr
            tested = release.helm.run("test", RELEASE, "--timeout=60s")
            assert "no trace of the webhook" in tested.stderr, tested.stderr
            release.helm("uninstall", RELEASE, "--wait", "--timeout=60s")
        else:
            assert done.returncode != 0
        ended = monotonic()
        creates.wait_for_more(25)
        after = [one for one in creates.answered if one.due > ended]
        assert len(after) >= 20
        assert [one for one in after if one.outcome == "refused"] == []
        if guard == "auto":
            assert [one for one in creates.answered if one.outcome == "refused"] == []
        for path in (MUTATING, VALIDATING):
            assert cluster.api.find(f"{path}/{NAME}") is None
        cluster.api.delete(space.pods)
