"""More than the servers take on: they shed it in a way that the API server makes good."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.changes import trust
from tests.cluster.harness.creates import creating, lost, told
from tests.cluster.harness.servers import ServerPod, wait_servers
from tests.cluster.harness.standin import Answer, StandIn, stand_in
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import BASE, webhook
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

    Record = Callable[[str, object], None]

SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{product.NAME}/endpointslices"
LATER = Answer(503, b"later", {"Retry-After": "1", "Connection": "close"})
# More than half of the API server's timeout of 5 s, after which a review is not worth beginning any more.
HALT = 2.8
SHED = "gpushare_webhook_shed_total"


@pytest.fixture(scope="module", autouse=True)
def authority(cluster: Cluster) -> Iterator[Authority]:
    with webhook(cluster, settings=BASE | {"server": {"shutdownDelay": "0s", "maxInFlight": 1}}, replicas=2) as made:
        yield made


@contextmanager
def _shedder(cluster: Cluster, authority: Authority) -> Iterator[StandIn]:
    """A third server behind the Service, which sheds every review as ours do; it is a stand-in, of this process."""
    leaf = authority.sign([product.HOST], datetime.now(UTC), timedelta(days=1))
    with stand_in(cluster.place, lambda _: LATER, leaf) as third:
        labels = {"kubernetes.io/service-name": product.NAME}
        cluster.api.create(
            SLICES,
            {
                "metadata": {"name": "shedder", "labels": labels},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [third.address]}],
                "ports": [{"name": "", "port": third.port}],
            },
        )
        try:
            yield third
        finally:
            cluster.api.delete(f"{SLICES}/shedder")


def test_none_is_lost_when_one_server_of_three_sheds_everything(
    space: Workspace, authority: Authority, record_property: Record
) -> None:
    with _shedder(space.cluster, authority) as third:

        def shed_often() -> bool:
            # With a bundle of its own the API server calls on new connections; one of three leads to the shedder.
            trust(space.cluster, authority, Authority.create("other", datetime.now(UTC), timedelta(days=1)))
            return len(third.reviews) >= 50

        with creating(space) as creates:
            wait_for("reviews to be shed", shed_often, seconds=60, every=0.5)
    record_property("figures", f"{told(creates.answered)}; {len(third.reviews)} reviews were shed")
    assert lost(creates.answered) == []


def test_none_is_lost_when_a_server_stands_still(space: Workspace, record_property: Record) -> None:
    servers = wait_servers(space.cluster, 2)
    with creating(space) as creates:
        creates.go_on()
        for server in servers:
            _halt(server, HALT)
            creates.go_on()
    sheds = {server.name: server.metric(SHED) for server in servers}
    record_property("figures", f"{told(creates.answered)}; the servers shed {list(sheds.values())}")
    assert lost(creates.answered) == []
    assert sum(sheds.values())


def _halt(server: ServerPod, seconds: float) -> None:
    """Have the kernel stop one server's process for a while, as a machine without CPU time to spare does."""
    server.send(signal.SIGSTOP)
    try:
        Event().wait(seconds)
    finally:
        server.send(signal.SIGCONT)
