"""An overloaded server sheds reviews, and the API server retries them."""

from __future__ import annotations

import signal
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.manifests import container
from tests.cluster.harness.servers import ServerPod, wait_servers
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import BASE, webhook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

    Record = Callable[[str, object], None]

pytestmark = pytest.mark.exhaustive

SHED = "gpushare_webhook_shed_total"


@pytest.fixture(scope="module", autouse=True)
def _server(cluster: Cluster) -> Iterator[None]:
    with webhook(cluster, settings=BASE | {"server": {"shutdownDelay": "0s", "maxInFlight": 2}}, replicas=1):
        yield


def test_burst_after_suspension_loses_no_create(space: Workspace, record_property: Record) -> None:
    # As large as a review may be that is counted in flight, with the managed fields that come beside the object.
    variables = [{"name": f"V{number}", "value": "x" * 50} for number in range(250)]
    (server,) = wait_servers(space.cluster, 1)
    with creating(space, container(env=variables), rate=25) as creates:

        def overloaded() -> bool:
            _halt(server, 1.5)
            creates.settle()
            return server.metric(SHED, reason="in-flight") > 0

        # The first time the API server only makes connections, on which the reviews can come at once the next time.
        wait_for("reviews to be shed", overloaded)
    record_property("figures", f"{summary(creates.answered)}; {server.metric(SHED):.0f} reviews were shed")
    assert lost(creates.answered) == []


def _halt(server: ServerPod, seconds: float) -> None:
    """Suspend one server's process for `seconds`, as a machine without free CPU time does."""
    server.send(signal.SIGSTOP)
    try:
        Event().wait(seconds)
    finally:
        server.send(signal.SIGCONT)
