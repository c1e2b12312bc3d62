"""One control plane for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.place import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly


@pytest.fixture(scope="package")
def reachable(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane on loopback, which this process reaches. It has no runtime class."""
    with control_plane(place=Loopback) as started:
        yield started
