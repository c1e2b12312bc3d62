"""Pods created at 20 per second through two servers behind one Service, while the servers come, go and change.

The pods are stored but not scheduled, so that no node has to run them.
"""

from __future__ import annotations

import os
import re
import signal
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import cluster as clusters
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.failures import NONE, Failures, failures
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.servers import ServerPod, server_pods, wait_servers
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import BASE, webhook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.creates import Create, Creates
    from tests.cluster.harness.workspace import Workspace

    Record = Callable[[str, object], None]

pytestmark = pytest.mark.alone

SETTINGS = BASE | {"server": {"shutdownDelay": "3s"}}
RELOADS = "gpushare_webhook_reloads_total"
DRY_PODS = "/api/v1/namespaces/default/pods?dryRun=All"
ENDPOINTS = f"/apis/discovery.k8s.io/v1/namespaces/{product.NAME}/endpointslices"
# The API server's message when the kernel has closed a connection of a dead process, or refuses a new one. Go reports
# "use of closed network connection" where its reader saw the end, and closed the connection, before its writer did.
BY_THE_KERNEL = re.compile(
    r": ((unexpected )?EOF|http: server closed idle connection|connect: connection refused"
    r"|use of closed network connection"
    r"|(read|write): (connection reset by peer|broken pipe))$"
)
# kube-proxy batches changes for at most a second before it writes them to the kernel.
PROXY_SECONDS = 1.5


@pytest.fixture(scope="module", autouse=True)
def _servers(cluster: Cluster) -> Iterator[None]:
    with webhook(cluster, settings=SETTINGS, replicas=2):
        yield


@dataclass(slots=True)
class Outcome:
    """What becomes of a stream of creates: `lost` were refused or not mutated; `failures` is the API server's count."""

    stream: Creates
    lost: list[Create] = field(default_factory=list)
    failures: Failures = NONE


@pytest.fixture(scope="module")
def cluster(needs_node: None) -> Iterator[Cluster]:
    """A cluster whose API server calls a Service at its address, as most do, so that kube-proxy chooses the pod."""
    with clusters.cluster(ControlPlaneOptions(api_server_flags=("--enable-aggregator-routing=false",))) as running:
        yield running


@contextmanager
def steady(space: Workspace, record: Record) -> Iterator[Outcome]:
    """Create pods while the block runs; then the outcome is complete, and client, storage and API server agree."""
    before = failures(space.cluster.control)
    with creating(space) as creates:
        outcome = Outcome(creates)
        creates.wait_for_more()
        yield outcome
        creates.wait_for_more()
    outcome.lost = lost(creates.answered)
    outcome.failures = failures(space.cluster.control).since(before)
    record("figures", summary(creates.answered))
    for number, message in enumerate([*outcome.failures.logged, *(one.message for one in outcome.lost)]):
        record(f"failure {number + 1}", message)
    assert creates.stored() == {one.name: one.outcome for one in creates.answered if one.outcome != "refused"}
    refused = [one for one in outcome.lost if one.outcome == "refused"]
    assert outcome.failures.rejected == len(refused)
    # A create whose mutating call failed may be rejected by the validating webhook.
    unmutated = len(outcome.lost) - len(refused)
    assert unmutated <= outcome.failures.failed_open <= len(outcome.lost)
    assert outcome.failures.failed_open == len(outcome.failures.logged)


@pytest.mark.exhaustive
def test_deleting_servers_in_turn_loses_no_create(space: Workspace, record_property: Record) -> None:
    with steady(space, record_property) as outcome:
        for server in wait_servers(space.cluster, 2):
            space.cluster.kubectl("-n", product.NAME, "delete", "pod", server.name)
            wait_servers(space.cluster, 2)
    assert outcome.lost == []


def test_settings_change_loses_no_create(space: Workspace, record_property: Record) -> None:
    cluster = space.cluster
    two = pod("two", container(gpus=2))
    with steady(space, record_property) as outcome:
        _obey(cluster, SETTINGS | {"mode": "warn"})
        status, headers, _ = cluster.api.request("POST", DRY_PODS, two)
        assert status == 201
        assert "GPS001" in headers["Warning"]
        _obey(cluster, SETTINGS)
        with pytest.raises(ApiError, match="GPS001"):
            cluster.api.create(DRY_PODS, two)
    assert outcome.lost == []


def _obey(cluster: Cluster, settings: Object) -> None:
    """Replace the servers' settings and wait until they are in force."""

    def reloads(server: ServerPod) -> float:
        return server.metric(RELOADS, what="settings", result="taken")

    before = {server.name: reloads(server) for server in wait_servers(cluster, 2)}
    data = product.config_map({"settings.yaml": settings})["data"]
    cluster.api.patch(f"/api/v1/namespaces/{product.NAME}/configmaps/{product.NAME}", {"data": data})
    looks = count()

    def reached() -> bool:
        # The kubelet would carry it into a pod's volume with its next look at the pod, a minute later. It looks at once
        # when the pod's annotations change; again and again, for it may not know yet of the new ConfigMap.
        cluster.kubectl("-n", product.NAME, "annotate", "pod", "--all", "--overwrite", f"looked={next(looks)}")
        return all(reloads(server) > before[server.name] for server in server_pods(cluster))

    wait_for("the new settings", reached, every=1)


@pytest.mark.exhaustive
def test_killed_server_loses_only_refused_connections(space: Workspace, record_property: Record) -> None:
    with steady(space, record_property) as outcome:
        windows = [_kill(server) for server in wait_servers(space.cluster, 2)]
    record_property("seconds until the endpoint is gone", [round(end - start, 2) for start, end in windows])
    for message in [*outcome.failures.logged, *(one.message for one in outcome.lost if one.outcome == "refused")]:
        assert BY_THE_KERNEL.search(message), message
    for one in outcome.lost:
        overlapping = [(start, end) for start, end in windows if start < one.due + one.seconds]
        assert [window for window in overlapping if one.due < window[1] + PROXY_SECONDS] != [], one


def _kill(server: ServerPod) -> tuple[float, float]:
    """Kill one server's process and wait until it serves again; return the time in which its endpoint was stale."""
    restarts = server.status()["restartCount"]
    start = monotonic()
    server.send(signal.SIGKILL)
    wait_for("the endpoint to be gone", lambda: server.address not in _endpoints(server.cluster), every=0.05)
    end = monotonic()
    wait_servers(server.cluster, 2, lambda one: one.name != server.name or one.status()["restartCount"] > restarts)
    return start, end


def test_servers_killed_together_lose_only_creates_until_they_are_back(
    space: Workspace, record_property: Record
) -> None:
    servers = wait_servers(space.cluster, 2)
    restarts = {server.name: server.status()["restartCount"] for server in servers}
    with creating(space) as creates:
        creates.wait_for_more()
        killed = monotonic()
        for pid in [server.pid for server in servers]:
            os.kill(pid, signal.SIGKILL)
        space.api.create(DRY_PODS, pod("plain", container(gpus=0)))
        wait_servers(space.cluster, 2, lambda one: one.status()["restartCount"] > restarts[one.name])
        ready = monotonic()
        creates.wait_for_more(2 * 20)
    gone = lost(creates.answered)
    last = max(one.due + one.seconds for one in gone) - killed
    record_property("figures", summary(creates.answered))
    record_property("killed", f"{len(gone)} lost, the last after {last:.1f} s; 2/2 ready after {ready - killed:.1f} s")
    outside = [one for one in gone if one.due + one.seconds < killed or one.due > ready + PROXY_SECONDS]
    assert outside == []


def _endpoints(cluster: Cluster) -> list[str]:
    """The addresses that the Service leads to."""
    slices = cluster.api.items(f"{ENDPOINTS}?labelSelector=kubernetes.io/service-name={product.NAME}")
    found = [one for part in slices for one in part["endpoints"] or () if one["conditions"]["ready"]]
    return [address for one in found for address in one["addresses"]]
