"""One control plane for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import control_plane
from tests.cluster.policies.sides import sides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.policies.sides import Sides


@pytest.fixture(scope="package")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with control_plane() as started:
        started.api.create("/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        yield started


@pytest.fixture(scope="package")
def both(running: ControlPlaneOnly) -> Iterator[Sides]:
    with sides(running) as made:
        yield made
