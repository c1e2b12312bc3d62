"""The limit of open files: raised as far as it goes, kept to, and survived when it is reached all the same."""

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
from webhook.server import descriptors

pytestmark = pytest.mark.slow

HONEST = request("POST", "/mutate?timeout=30s", json.dumps(review(pod())).encode())


def under(soft: int, hard: int, certificates: Certificates) -> subprocess.Popen[bytes]:
    """A server that is started under these limits."""
    limits = ["prlimit", f"--nofile={soft}:{hard}"]
    command = [*limits, *SERVE, *FREE_PORTS, *certificates.options, *certificates.impatient]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("allowed", "connections"), [(1_048_576, 1_048_384), (1024, 832), (200, 50)])
def test_connections_take_what_is_left(allowed: int, connections: int) -> None:
    assert descriptors.affordable(allowed) == connections


def test_the_limit_is_raised_as_far_as_it_goes(certificates: Certificates) -> None:
    with ended(under(256, 4000, certificates)) as process:
        server = Serve(process, certificates)
        assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (4000, 4000)
        assert [json.loads(line)["event"] for line in server.log.so_far()] == ["ready"]


async def test_connections_keep_to_the_limit(certificates: Certificates) -> None:
    with ended(under(300, 300, certificates)) as process:
        server = Serve(process, certificates)
        told = server.log.event("fewer connections than set")
        assert (told["connections"], told["reason"]) == (108, "the limit of 300 open files")
        async with unfinished(server.client, 320):
            await is_served(server)
        assert not refusals(server)


async def test_who_comes_when_no_file_can_be_opened_is_let_in_for_an_idle_one(certificates: Certificates) -> None:
    with serve(certificates) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (opened(server) + 40, 4000))
        async with unfinished(server.client, 200):
            await is_served(server)
        assert len(refusals(server)) <= 2  # one for each door


async def is_served(server: Serve) -> None:
    """See that a review and a probe are answered."""
    line = await Line.open(server.client)
    assert (await line.ask(HONEST)).status == 200
    await line.close()
    assert server.client.health("/livez").status == 200


def opened(server: Serve) -> int:
    """How many files a server has open."""
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def refusals(server: Serve) -> list[str]:
    """The lines which say that nobody could be accepted."""
    return [line for line in server.log.so_far() if "no connection accepted" in line]
