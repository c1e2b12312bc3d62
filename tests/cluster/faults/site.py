"""An installation that is well: the node side, our webhook from its chart, and a pod that runs; and faults of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.cluster.faults import stack
from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.options import ControlPlaneOptions, NodeOptions, mps
from tests.cluster.harness.release import CORE, HOST, NAME, NAMESPACE, Release, prepared
from tests.cluster.harness.webhook_manifests import secret
from tests.cluster.harness.workspace import Workspace
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.cluster import Cluster

INSTALLED = f"{NAMESPACE}/{NAME}"
REPLICAS = 10
TEAM = "research"
"""A namespace with GPU pods, in which the webhook only warns."""

SERVING = f"{CORE}/secrets/serving-for-long"
_YEAR = timedelta(days=365)
_SETTINGS: dict[str, Any] = {
    "namespaces": [{"names": [TEAM], "mode": "warn"}],
    "facts": {
        "nodes": True,
        "namespaces": True,
        "devicePlugin": {
            "configMaps": [f"{stack.NAMESPACE}/{stack.CONFIGS}"],
            "daemonSet": f"{stack.NAMESPACE}/{stack.PLUGIN}",
        },
    },
}


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster, the release of the chart, the authority of its certificate, and the namespace of a team."""

    cluster: Cluster
    release: Release
    authority: Authority
    team: Workspace


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of an installation, and the finding that `doctor` must report while it lasts.

    Troubles of one round last at the same time. `also` are findings that may follow from it.
    """

    finding: str
    round: str
    make: Callable[[Site], AbstractContextManager[object]]
    also: frozenset[str] = frozenset()


@contextmanager
def bare() -> Iterator[Cluster]:
    """A cluster with the node side, and without our webhook."""
    labels = stack.discovered(REPLICAS)
    options = ControlPlaneOptions(controller_manager_flags=("--node-monitor-grace-period=1h",))
    with clusters.cluster(options, NodeOptions(plugin=mps(REPLICAS), labels=labels)) as cluster:
        stack.install(cluster, mps(REPLICAS))
        yield cluster


@contextmanager
def site(cluster: Cluster) -> Iterator[Site]:
    """Install the chart with a certificate that is valid for a year, and start a pod of a team."""
    now = datetime.now(UTC)
    authority = Authority.create("tests", now, _YEAR)
    leaf = authority.sign([HOST], now, _YEAR)
    with (
        prepared(cluster, "existing-secret", **_SETTINGS) as release,
        namespace(cluster, TEAM),
    ):
        name = SERVING.rpartition("/")[2]
        data = secret(leaf.certificate, leaf.key)["data"]
        cluster.api.create(f"{CORE}/secrets", {"metadata": {"name": name}, "type": "kubernetes.io/tls", "data": data})
        given = {"name": name, "caBundle": authority.bundle().decode()}
        release.upgrade({"tls": {"existingSecret": given}})
        team = Workspace(cluster, TEAM)
        team.start(pod("serves"))
        yield Site(cluster, release, authority, team)
