"""The limit of open files: raised as far as possible, respected, and survived when it is reached."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

import pytest

from tests.server.certificates import Certificates
from tests.server.client import request
from tests.server.load import Line, unfinished
from tests.server.process import FREE_PORTS, SERVE, Serve, ended, serve
from tests.server.reviews import pod, review
from webhook.server import limits

pytestmark = pytest.mark.slow

HONEST = request("POST", "/mutate?timeout=30s", json.dumps(review(pod())).encode())


def under(soft: int, hard: int, certificates: Certificates) -> subprocess.Popen[bytes]:
    """Start a server under these limits."""
    limits = ["prlimit", f"--nofile={soft}:{hard}"]
    command = [*limits, *SERVE, *FREE_PORTS, *certificates.options, *certificates.impatient]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("allowed", "connections"), [(1_048_576, 1_048_000), (1024, 448), (200, 50)])
def test_connections_for_file_limit(allowed: int, connections: int) -> None:
    assert limits.affordable_connections(allowed) == connections


def test_soft_file_limit_is_raised(certificates: Certificates) -> None:
    with ended(under(256, 4000, certificates)) as process:
        server = Serve(process, certificates)
        assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (4000, 4000)
        assert [json.loads(line)["event"] for line in server.log.so_far()] == ["ready"]


async def test_file_limit_bounds_connections(certificates: Certificates) -> None:
    with ended(under(300, 300, certificates)) as process:
        server = Serve(process, certificates)
        logged = server.log.event("fewer connections than set")
        assert (logged["connections"], logged["reason"]) == (75, "the limit of 300 open files")
        async with unfinished(server.client, 320):
            await is_served(server)
        assert not refusals(server)


async def test_emfile_evicts_idle_connection(certificates: Certificates) -> None:
    with serve(certificates) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (opened(server) + 40, 4000))
        async with unfinished(server.client, 200):
            await is_served(server)
        assert len(refusals(server)) <= 2  # one per port


async def is_served(server: Serve) -> None:
    """Have a review and a probe answered."""
    line = await Line.open(server.client)
    assert (await line.ask(HONEST)).status == 200
    await line.close()
    assert server.client.health("/livez").status == 200


def opened(server: Serve) -> int:
    """The number of files that a server has open."""
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def refusals(server: Serve) -> list[str]:
    """The log lines about connections that could not be accepted."""
    return [line for line in server.log.so_far() if "no connection accepted" in line]
