"""Pods created at 20 a second through two servers behind one Service, while the servers come, go and change."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import cluster as clusters
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.creates import creating, lost, told
from tests.cluster.harness.failures import failures
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.servers import wait_servers
from tests.cluster.harness.webhook import webhook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.creates import Creates
    from tests.cluster.harness.workspace import Workspace
    from webhook.pki import Authority

SETTINGS = {"server": {"shutdownDelay": "3s"}}


@pytest.fixture(scope="module")
def cluster(needs_node: None) -> Iterator[Cluster]:
    """A cluster whose API server calls a Service at its address, as most do, so that kube-proxy chooses the pod."""
    with clusters.cluster(ControlPlaneOptions(api_server_flags=("--enable-aggregator-routing=false",))) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def authority(cluster: Cluster) -> Iterator[Authority]:
    with webhook(cluster, settings=SETTINGS, replicas=2) as made:
        yield made


@pytest.fixture
def creates(space: Workspace, record_property: Callable[[str, object], None]) -> Iterator[Creates]:
    before = failures(space.cluster.control)
    with creating(space) as running:
        yield running
    record_property("figures", told(running.answered))
    print(failures(space.cluster.control).since(before))
    for one in lost(running.answered):
        print(one)


def test_rollout(cluster: Cluster, creates: Creates) -> None:
    cluster.kubectl("-n", product.NAME, "rollout", "restart", f"deployment/{product.NAME}")
    cluster.kubectl("-n", product.NAME, "rollout", "status", f"deployment/{product.NAME}", "--timeout=60s")
    wait_servers(cluster, 2)


def test_delete(cluster: Cluster, creates: Creates) -> None:
    for server in wait_servers(cluster, 2):
        cluster.kubectl("-n", product.NAME, "delete", "pod", server.name)
        wait_servers(cluster, 2)


def test_kill(cluster: Cluster, creates: Creates) -> None:
    for server in wait_servers(cluster, 2):
        print(server.memory(), server.leaf().serial_number, server.metric("gpushare_webhook_reviews_total"))
        server.send(signal.SIGKILL)
        wait_servers(cluster, 2, lambda one: one.name != server.name or one.status()["restartCount"] == 1)
