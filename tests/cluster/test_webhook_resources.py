"""A server with one CPU and 128 MiB: many pods, the largest review, and many unfinished connections."""

from __future__ import annotations

import json
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

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
# More than a server with this memory has at once.
CONNECTIONS = 500
# What the API server reads of a request; its review holds a little more.
LARGEST = 3 * 2**20
# As much of a body as is read into memory that is not counted.
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
def lives(server: ServerPod, record_property: Record) -> Iterator[None]:
    """The same process runs before and after a test, and none was killed."""
    before = server.pid
    yield
    record_property("memory", _memory(server))
    assert (server.pid, server.killed_for_memory, server.status()["restartCount"]) == (before, 0, 0)


def _memory(server: ServerPod) -> str:
    held = server.memory()
    most = server.most_memory >> 20
    return f"RSS {held['VmRSS'] >> 10} MiB, at most {held['VmHWM'] >> 10} MiB; the container at most {most} MiB"


def test_many_pods_are_completed(server: ServerPod) -> None:
    assert _not_completed(server, pod("one"), times=PODS, at_once=8) == []


@pytest.mark.parametrize("variables", [1, 10_000], ids=["one-value", "many-values"])
def test_the_largest_pods_are_completed(server: ServerPod, variables: int) -> None:
    assert _not_completed(server, _largest(variables), times=8, at_once=4) == []


def test_silent_connections_keep_no_client_out(server: ServerPod) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(server.cluster.place.connect(server.address, 10250, 5))
        assert server.leaf()


@pytest.mark.parametrize("sent", [b"", HALF], ids=["idle", "half-a-review"])
def test_pods_are_completed_in_spite_of_a_crowd(server: ServerPod, sent: bytes, record_property: Record) -> None:
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
        record_property("with the crowd", f"{connections:.0f} connections; {_memory(server)}")
        assert _not_completed(server, pod("one"), times=20, at_once=4) == []
        assert _not_completed(server, _largest(10_000), times=4, at_once=2) == []
    wait_for("the connections to be gone", lambda: server.metric("gpushare_webhook_connections") < 100)


def _not_completed(server: ServerPod, manifest: Object, *, times: int, at_once: int) -> list[str]:
    """Create a pod this many times without storing it: which creates did not return it completed, and why."""
    api = server.cluster.api

    def create(number: int) -> str | None:
        code, headers, answer = api.request("POST", DRY_POD, manifest)
        if code < 300 and is_mutated(json.loads(answer)):
            return None
        problem = answer.decode(errors="replace")[:500] if code >= 300 else "not mutated"
        return f"create {number} of {times}: {code}, {problem}; warning: {headers.get('Warning')}"

    with ThreadPoolExecutor(at_once) as workers:
        return [problem for problem in workers.map(create, range(1, times + 1)) if problem is not None]


def _largest(variables: int) -> Object:
    def made(each: int) -> Object:
        env = [{"name": f"V{number}", "value": "x" * each} for number in range(variables)]
        return pod("one", container(env=env))

    return made((LARGEST - len(json.dumps(made(0)))) // variables)
