"""One cluster for the session, a Kubernetes namespace for each test, and no silent skips in CI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from harness import cluster as clusters
from harness.cache import ToolsMissingError
from harness.workspace import Workspace, workspace

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Count a skipped test as failed in CI: there, everything that the tests need has to be there."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"in CI a skip is a failure: {report.longrepr[2]}"
    return report


@pytest.fixture(scope="session")
def cluster() -> Iterator[clusters.Cluster]:
    """A cluster with one node: one GPU shared through MPS as ten replicas, and the runtime handler `nvidia`."""
    try:
        running = clusters.cluster()
        with running as started:
            yield started
    except (ToolsMissingError, clusters.UnavailableError) as reason:
        pytest.skip(str(reason))


@pytest.fixture
def space(cluster: clusters.Cluster, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    """A Kubernetes namespace of the test's own in the session's cluster."""
    with workspace(cluster, request.node.name) as made:
        yield made
