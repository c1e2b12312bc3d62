"""One control plane for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.sources import Sources, sources

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def found(needs_control_plane: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """A control plane with everything that facts are read from. A module undoes its changes."""
    with sources(tmp_path_factory.mktemp("audit")) as started:
        yield started
