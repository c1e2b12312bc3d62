"""Certificates for servers on loopback."""

from __future__ import annotations

import pytest

from tests.server.certificates import Certificates, issue


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue(tmp_path_factory.mktemp("certificates"))
