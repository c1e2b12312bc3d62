"""One control plane for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.chart_hooks import gpu_control_plane
from tests.cluster.harness.inventory import deciding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly


@pytest.fixture(scope="package")
def shared(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with gpu_control_plane() as started:
        yield started


@pytest.fixture(scope="module")
def running(shared: ControlPlaneOnly) -> Iterator[ControlPlaneOnly]:
    """The control plane, which has the runtime class `nvidia` and no hooks. A module leaves it as it was."""
    before = deciding(shared)
    yield shared
    shared.api.delete("/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
    assert deciding(shared) == before, "the module leaves something that decides about the pods of others"


@pytest.fixture
def clean(running: ControlPlaneOnly) -> Iterator[None]:
    """Delete the pods that a test creates."""
    yield
    running.api.delete("/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
