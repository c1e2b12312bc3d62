"""One server as a process for all tests that only talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.certificates import Certificates, issue
from tests.server.client import Client
from tests.server.process import Serve, serve


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def served(certificates: Certificates) -> Iterator[Serve]:
    with serve(certificates, "--log-level", "debug") as server:
        yield server


@pytest.fixture(scope="session")
def client(served: Serve) -> Client:
    return served.client
