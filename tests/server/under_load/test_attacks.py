"""Misused connections leave no log line, no traceback and no descriptor, and honest clients are answered meanwhile."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.attacks import ATTACKS, REVIEW, Attack
from tests.server.callers import Callers
from tests.server.certificates import Certificates
from tests.server.client import reply
from tests.server.lines import until
from tests.server.process import Serve, serve

pytestmark = pytest.mark.slow

AT_ONCE = 4
TIMES = 24


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and what its honest clients and the others bring to a handshake."""

    server: Serve
    honest: ssl.SSLContext
    hostile: ssl.SSLContext

    @property
    def descriptors(self) -> int:
        """The open files of the server."""
        return len(list(Path(f"/proc/{self.server.process.pid}/fd").iterdir()))


@pytest.fixture(scope="module")
def without(certificates: Certificates) -> Iterator[Target]:
    with serve(certificates) as server:
        yield Target(server, certificates.trust(), certificates.trust())


@pytest.fixture(scope="module")
def required(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Honest clients have a certificate, attackers have none."""
    callers = Callers.of(tmp_path_factory.mktemp("callers"), "callers")
    with serve(certificates, *callers.settings("kube-apiserver")) as server:
        yield Target(server, callers.called("kube-apiserver", certificates), certificates.trust())


@pytest.mark.parametrize("certificates_are", ["without", "required"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_leaves_honest_clients_alone(
    request: pytest.FixtureRequest, certificates_are: str, attack: Attack
) -> None:
    target: Target = request.getfixturevalue(certificates_are)
    client = target.server.client
    with client.connect(target.honest) as kept:
        kept.sendall(REVIEW)
        assert reply(kept).status == 200
        before = target.descriptors
        with ThreadPoolExecutor(AT_ONCE) as attackers:
            attacks = [attackers.submit(attack.attempt, client.port, target.hostile) for _ in range(TIMES)]
            kept.sendall(REVIEW)
            assert reply(kept).status == 200
            with client.connect(target.honest) as restarted:
                restarted.sendall(REVIEW)
                assert reply(restarted).status == 200
        assert len([attacked.result() for attacked in attacks]) == TIMES
        until(lambda: target.descriptors <= before)
        kept.sendall(REVIEW)
        assert reply(kept).status == 200
    assert client.health("/livez").status == 200
    target.server.log.event("review")
    assert {json.loads(line)["event"] for line in target.server.log.so_far()} == {"ready", "review"}
    assert target.server.errors.so_far() == []
