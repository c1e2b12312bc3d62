"""Overloaded servers shed reviews, and the API server retries them."""

from __future__ import annotations

import json
import signal
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.changes import trust
from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.manifests import container
from tests.cluster.harness.servers import ServerPod, wait_servers
from tests.cluster.harness.standin import Answer, StandIn, stand_in
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import BASE, webhook
from webhook.admission import Hook, respond
from webhook.pki import Authority
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

    Record = Callable[[str, object], None]

pytestmark = pytest.mark.exhaustive

SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{product.NAME}/endpointslices"
# How often the second server sheds one review. The API server picks a server at random for each connection that it
# makes (`ResolveEndpoint` in k8s.io/apiserver pkg/util/proxy), and asks again after a second: at most five times within
# a hook's timeout of 5 s. All five meet a server that sheds everything for longer with a probability of 2^-5, and of
# 2^-4 once the first one has: of some 25 such creates in a run one or two could be lost, whatever the product does.
# After three sheds two tries are left, and nothing depends on chance.
SHEDS = 3
LATER = Answer(503, b"later", {"Retry-After": "1", "Connection": "close"})
SHED = "gpushare_webhook_shed_total"


@pytest.fixture(scope="module", autouse=True)
def authority(cluster: Cluster) -> Iterator[Authority]:
    with webhook(cluster, settings=BASE | {"server": {"shutdownDelay": "0s", "maxInFlight": 2}}, replicas=1) as made:
        yield made


@contextmanager
def _shedder(cluster: Cluster, authority: Authority) -> Iterator[StandIn]:
    """A second server behind the Service: it sheds each review `SHEDS` times as ours do, and then answers as ours do.

    It is a stand-in, of this process.
    """
    evaluator, shed = Evaluator.of(Settings()), Counter[str]()

    def answer(review: Object) -> Answer:
        uid = review["request"]["uid"]
        shed[uid] += 1
        if shed[uid] <= SHEDS:
            return LATER
        # An object that is mutated already gets no patch, so this serves the validating hook too.
        body = respond(json.dumps(review).encode(), Hook.MUTATE, evaluator).body()
        return Answer(200, body, {"Content-Type": "application/json"})

    leaf = authority.sign([product.HOST], datetime.now(UTC), timedelta(days=1))
    with stand_in(cluster.place, answer, leaf) as other:
        labels = {"kubernetes.io/service-name": product.NAME}
        endpoints = {
            "metadata": {"name": "shedder", "labels": labels},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [other.address]}],
            "ports": [{"name": "", "port": other.port}],
        }
        with cluster.api.created(SLICES, endpoints):
            yield other


def test_one_overloaded_server_of_two_loses_no_create(
    space: Workspace, authority: Authority, record_property: Record
) -> None:
    with _shedder(space.cluster, authority) as other:

        def shed_often() -> bool:
            # With a bundle of its own the API server calls on new connections; one of two leads to the shedder.
            trust(space.cluster, authority, Authority.create("unused", datetime.now(UTC), timedelta(days=1)))
            return len(other.reviews) >= 50

        with creating(space) as creates:
            wait_for("reviews to be shed", shed_often, every=0.5)
    record_property("figures", f"{summary(creates.answered)}; {len(other.reviews)} reviews were shed")
    assert lost(creates.answered) == []


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
