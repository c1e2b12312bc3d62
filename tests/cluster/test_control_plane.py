"""Where a control plane runs, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.place import Loopback

if TYPE_CHECKING:
    pass


def test_missing_tools_error_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with (
        pytest.raises(ToolsMissingError, match=r"kubernetes-.* is not built .*: run `make cluster-tools`"),
        control_plane(),
    ):
        pass


def test_ports_of_two_places_differ_and_no_outgoing_connection_takes_them(tmp_path: Path) -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    places = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        places.append(Loopback(tmp_path / name))
    ports = [place.port(6443) for place in (*places, *places)]
    assert len(set(ports)) == len(ports)
    assert max(ports) < first_outgoing
    for place in places:
        place.close()
