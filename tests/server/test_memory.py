"""The memory limit of the container bounds the connections."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from webhook.server import memory

MIB = 2**20


@pytest.mark.parametrize(
    ("told", "limit"),
    [("134217728\n", 128 * MIB), ("max\n", None), ("9223372036854771712\n", None)],
    ids=["a limit", "none in version 2", "none in version 1"],
)
def test_a_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, limit: int | None) -> None:
    file = tmp_path / "memory.max"
    file.write_text(told)
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "missing", file))
    assert memory.limit() == limit


def test_without_control_groups_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "missing",))
    assert memory.limit() is None


def test_connections_take_what_is_left() -> None:
    assert memory.affordable(128 * MIB, held=68 * MIB, body_limit=7 * MIB) == 176
    assert memory.affordable(256 * MIB, held=68 * MIB, body_limit=7 * MIB) == 1200


def test_an_api_server_always_finds_room() -> None:
    assert memory.affordable(64 * MIB, held=68 * MIB, body_limit=7 * MIB) == 64


def test_what_is_held_is_measured() -> None:
    with mmap.mmap(-1, 32 * MIB) as fresh:
        before = memory.resident()
        fresh.write(b"x" * (32 * MIB))
        assert memory.resident() - before >= 31 * MIB
