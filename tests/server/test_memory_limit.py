"""The memory limit of the container bounds what the server takes on."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server import limits
from webhook.server.limits import Bounds
from webhook.settings.configuration import ServerSettings

MIB = 2**20
DEFAULT = Bounds(ServerSettings().body_limit, ServerSettings().max_connections)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("134217728\n", 128 * MIB), ("max\n", None), ("9223372036854771712\n", None)],
    ids=["a limit", "none in version 2", "none in version 1"],
)
def test_cgroup_memory_limit_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, limit: int | None
) -> None:
    file = tmp_path / "memory.max"
    file.write_text(text)
    monkeypatch.setattr(limits, "LIMIT_FILES", [tmp_path / "missing", file])
    assert limits.memory_limit() == limit


def test_no_memory_limit_without_cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LIMIT_FILES", [tmp_path / "missing"])
    assert limits.memory_limit() is None


def test_nodes_that_are_read_after_the_start_reserve_memory() -> None:
    with_nodes = limits.room(512 * MIB, reads_nodes=True)
    without = limits.room(512 * MIB, reads_nodes=False)
    assert 80 * MIB < without - with_nodes < 100 * MIB


def test_connections_are_reduced_first() -> None:
    assert limits.fitting(DEFAULT, 500 * MIB) == Bounds(28 * MIB, 960)


def test_review_size_is_reduced_second() -> None:
    fit = limits.fitting(DEFAULT, 186 * MIB)
    assert 7 * MIB < fit.body < 8 * MIB
    assert fit.connections == 256


@pytest.mark.parametrize("room", [-10 * MIB, 0, 10 * MIB])
def test_minimum_bounds_are_kept(room: int) -> None:
    assert limits.fitting(DEFAULT, room) == Bounds(4 * MIB, 64)


def test_small_bounds_are_unchanged() -> None:
    assert limits.fitting(Bounds(512 * 1024, 10), 0) == Bounds(512 * 1024, 10)


@given(st.integers(1, 64 * MIB), st.integers(1, 5000), st.integers(0, 1024 * MIB))
def test_fitting_bounds_fit(body: int, connections: int, room: int) -> None:
    wanted = Bounds(body, connections)
    fit = limits.fitting(wanted, room)
    assert fit.body <= wanted.body
    assert fit.connections <= wanted.connections
    assert fit == wanted or fit.bytes <= room or (fit.body <= 4 * MIB and fit.connections <= 64)
    assert fit == wanted or wanted.bytes > room


def test_resident_memory_is_measured() -> None:
    with mmap.mmap(-1, 32 * MIB) as fresh:
        before = limits.resident()
        fresh.write(b"x" * (32 * MIB))
        assert limits.resident() - before >= 31 * MIB


def test_unreclaimable_memory_leaves_out_pages_of_files(tmp_path: Path) -> None:
    file = tmp_path / "library"
    file.write_bytes(b"x" * (16 * MIB))
    before = limits.unreclaimable()
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        resident = limits.resident()
        assert mapped[:: mmap.PAGESIZE].count(b"x") == 16 * MIB // mmap.PAGESIZE
        assert limits.resident() - resident >= 15 * MIB
        assert limits.unreclaimable() - before < 4 * MIB
    with mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as fresh:
        fresh.write(b"x" * (32 * MIB))
        assert limits.unreclaimable() - before >= 31 * MIB
