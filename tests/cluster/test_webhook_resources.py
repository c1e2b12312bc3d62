"""A server that may use one CPU and 128 MiB: many pods, the largest review, and a crowd of connections."""

from __future__ import annotations

import json
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.hooks import DRY_POD, is_mutated
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.servers import ServerPod, wait_servers
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster

    Record = Callable[[str, object], None]

LIMITS = {"cpu": "1", "memory": "128Mi"}
PODS = 2_000
CONNECTIONS = 3_000
CONNECTIONS_AT_ONCE = 2_048
# What the API server reads of a request; its review holds a little more.
LARGEST = 3 * 2**20


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[ServerPod]:
    with webhook(cluster, limits=LIMITS):
        (found,) = wait_servers(cluster, 1)
        yield found
        assert found.status()["restartCount"] == 0


@pytest.fixture(autouse=True)
def lives(server: ServerPod, record_property: Record) -> Iterator[None]:
    """The same process runs before and after a test, and the kernel has ended nothing in its group."""
    before = server.pid
    yield
    record_property("memory", _memory(server))
    assert server.pid == before
    assert (server.group / "memory.oom_control").read_text().split()[-2:] == ["oom_kill", "0"]


def _memory(server: ServerPod) -> str:
    at_most = int((server.group / "memory.max_usage_in_bytes").read_text())
    held = server.memory()
    return f"VmRSS {held['VmRSS'] >> 10} MiB, VmHWM {held['VmHWM'] >> 10} MiB, group at most {at_most >> 20} MiB"


def test_many_pods(server: ServerPod, record_property: Record) -> None:
    def create(_: int) -> bool:
        return is_mutated(server.cluster.api.create(DRY_POD, pod("one")))

    with ThreadPoolExecutor(8) as workers:
        assert all(workers.map(create, range(PODS)))
    record_property("memory", _memory(server))


@pytest.mark.parametrize("variables", [1, 10_000])
def test_the_largest_review(server: ServerPod, variables: int) -> None:
    large = _largest(variables)

    def create(_: int) -> bool:
        return is_mutated(server.cluster.api.create(DRY_POD, large))

    with ThreadPoolExecutor(4) as workers:
        assert all(workers.map(create, range(8)))


def test_a_crowd_that_only_connects(server: ServerPod) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(server.cluster.place.connect(server.address, 10250, 5))
        server.leaf()


HALF = (
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    + b" " * 16_000
)


@pytest.mark.parametrize("sent", [b"", HALF], ids=["idle", "half a review"])
def test_a_crowd_of_connections(server: ServerPod, sent: bytes, record_property: Record) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def connect(_: int) -> ssl.SSLSocket:
        plain = server.cluster.place.connect(server.address, 10250, 10)
        made = stack.enter_context(context.wrap_socket(plain))
        if sent:
            made.sendall(sent)
        return made

    with ExitStack() as stack:
        with ThreadPoolExecutor(8) as workers:
            list(workers.map(connect, range(CONNECTIONS)))
        record_property("connections", server.metric("gpushare_webhook_connections"))
        record_property("memory with them", _memory(server))
        large = _largest(10_000)
        with ThreadPoolExecutor(4) as workers:
            assert all(workers.map(lambda _: is_mutated(server.cluster.api.create(DRY_POD, large)), range(4)))
    wait_for("the connections to be gone", lambda: server.metric("gpushare_webhook_connections") < 100)


def _largest(variables: int) -> dict[str, object]:
    def made(each: int) -> dict[str, object]:
        env = [{"name": f"V{number}", "value": "x" * each} for number in range(variables)]
        return pod("one", container(env=env))

    return made((LARGEST - len(json.dumps(made(0)))) // variables)
