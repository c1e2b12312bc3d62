"""One control plane for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.chart_hooks import gpu_control_plane
from tests.cluster.policies.sides import sides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.policies.sides import Sides


@pytest.fixture(scope="package")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with gpu_control_plane() as started:
        yield started


@pytest.fixture(scope="package")
def both(running: ControlPlaneOnly) -> Iterator[Sides]:
    with sides(running) as made:
        yield made
