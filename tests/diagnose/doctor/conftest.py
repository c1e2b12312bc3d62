"""The cluster of most tests."""

from __future__ import annotations

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.doctor.healthy import healthy


@pytest.fixture
def cluster() -> FakeCluster:
    """A cluster that is well."""
    return healthy()
