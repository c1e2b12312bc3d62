"""One cluster for the session, and a Kubernetes namespace for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import audit
from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.webhook import webhook
from tests.cluster.harness.workspace import Workspace, workspace
from tests.cluster.sources import Sources, sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytest_plugins = ["tests.exhaustive", "tests.record"]

LONGEST = (
    "test_pages",
    "test_why",
    "test_doctor",
    "test_chart_upgrade",
    "test_presets",
    "test_chart",
    "test_rotation_product",
    "test_chart_fresh",
)
"""The modules that take minutes, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest modules: of two workers, one would end alone with a long module that it takes last."""
    turns = {name: turn for turn, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get(item.path.stem, len(turns)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests took by `record_property`."""
    from tests.record import PROPERTY  # pytest has to import its plugins first

    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "when")]
    figures = [(report, entry) for report in reports if report.when == "teardown" for entry in report.user_properties]
    figures = [(report, entry) for report, entry in figures if not entry[0].startswith(PROPERTY)]
    if figures:
        terminalreporter.section("figures")
    for report, (name, value) in figures:
        terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {name}: {value}")


def _or_skip(missing: Callable[[], object]) -> None:
    try:
        missing()
    except (ToolsMissingError, clusters.UnavailableError) as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def needs_control_plane() -> None:
    """Skip the test where no control plane can run."""
    _or_skip(clusters.control_plane_tools)


@pytest.fixture(scope="session")
def needs_node() -> None:
    """Skip the test where no node can run."""
    _or_skip(clusters.node_tools)


@pytest.fixture(scope="session")
def cluster(needs_node: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    """A cluster with one node: one GPU shared through MPS as ten replicas, and the runtime handler `nvidia`.

    Its API server logs what service accounts ask of it.
    """
    options = ControlPlaneOptions(api_server_flags=audit.flags(tmp_path_factory.mktemp("audit")))
    with clusters.cluster(options) as running:
        yield running


@pytest.fixture(scope="session")
def fact_sources(needs_control_plane: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """A control plane that holds everything that facts are read from."""
    with sources(tmp_path_factory.mktemp("audit")) as started:
        yield started


@pytest.fixture(scope="module")
def installed_webhook(cluster: clusters.Cluster) -> Iterator[None]:
    """The webhook in the session's cluster, for one module."""
    with webhook(cluster):
        yield


@pytest.fixture
def space(cluster: clusters.Cluster, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    """A Kubernetes namespace of the test's own in the session's cluster."""
    with workspace(cluster, request.node.name) as made:
        yield made
