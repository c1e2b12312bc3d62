"""A server that may use one CPU and 128 MiB: many pods, the largest reviews, many connections."""

from __future__ import annotations

import json
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.failures import failures
from tests.cluster.harness.hooks import DRY_POD, is_mutated
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.servers import ServerPod, wait_servers
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

    Record = Callable[[str, object], None]

LIMITS = {"cpu": "1", "memory": "128Mi"}
PODS = 2_000
# More than a server with this memory accepts.
CONNECTIONS = 500
# The API server reads requests up to this size; the review of one is a little larger.
LARGEST = 3 * 2**20
# The part of a body that the server reads before it counts the memory.
HALF = (
    b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    + b" " * 16_000
)


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[ServerPod]:
    with webhook(cluster, limits=LIMITS):
        (found,) = wait_servers(cluster, 1)
        yield found


@pytest.fixture(autouse=True)
def survives(server: ServerPod, record_property: Record) -> Iterator[None]:
    """Assert that a test leaves the server's process running and that the kernel kills none for its memory."""
    before = server.pid
    yield
    record_property("memory", _memory(server))
    assert (server.pid, server.killed_for_memory, server.status()["restartCount"]) == (before, 0, 0)


def _memory(server: ServerPod) -> str:
    held = server.memory()
    most = server.most_memory >> 20
    return f"RSS {held['VmRSS'] >> 10} MiB, at most {held['VmHWM'] >> 10} MiB; the container at most {most} MiB"


def test_many_pods_are_mutated(server: ServerPod) -> None:
    create_mutated(server, pod("one"), times=PODS, at_once=8)


@pytest.mark.parametrize("variables", [1, 10_000], ids=["one-value", "many-values"])
def test_largest_pods_are_mutated(server: ServerPod, variables: int) -> None:
    create_mutated(server, _largest(variables), times=8, at_once=4)


def test_silent_connections_keep_no_client_out(server: ServerPod) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(server.cluster.place.connect(server.address, 10250, 5))
        assert server.leaf()


@pytest.mark.parametrize("sent", [b"", HALF], ids=["idle", "half-a-review"])
def test_pods_are_mutated_despite_idle_connections(server: ServerPod, sent: bytes, record_property: Record) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def connect(_: int) -> None:
        plain = stack.enter_context(server.cluster.place.connect(server.address, 10250, 30))
        with suppress(OSError):  # the server may close any of them
            stack.enter_context(context.wrap_socket(plain)).sendall(sent)

    with ExitStack() as stack:
        with ThreadPoolExecutor(8) as workers:
            list(workers.map(connect, range(CONNECTIONS)))
        connections = server.metric("gpushare_webhook_connections")
        record_property("with idle connections", f"{connections:.0f} connections; {_memory(server)}")
        create_mutated(server, pod("one"), times=20, at_once=4)
        create_mutated(server, _largest(10_000), times=4, at_once=2)
    wait_for("the connections to close", lambda: server.metric("gpushare_webhook_connections") < 100)


def create_mutated(server: ServerPod, manifest: Object, *, times: int, at_once: int) -> None:
    """Create a pod repeatedly, without storing it, and assert that the webhook mutates it every time."""
    api, before = server.cluster.api, failures(server.cluster.control)
    with ThreadPoolExecutor(at_once) as workers:
        mutated = list(workers.map(lambda _: is_mutated(api.create(DRY_POD, manifest)), range(times)))
    unmutated = [number for number, succeeded in enumerate(mutated) if not succeeded]
    logged = failures(server.cluster.control).since(before).logged
    assert not unmutated, f"{len(unmutated)} of {times} pods not mutated, creates {unmutated}; logged: {logged}"


def _largest(variables: int) -> Object:
    def made(each: int) -> Object:
        env = [{"name": f"V{number}", "value": "x" * each} for number in range(variables)]
        return pod("one", container(env=env))

    return made((LARGEST - len(json.dumps(made(0)))) // variables)
