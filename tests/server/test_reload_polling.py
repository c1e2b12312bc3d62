"""Polling of reloaded sources: nothing is logged twice, and no source affects another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from tests.server.lines import PATIENCE, PipedLog
from webhook.diagnostics import Diagnostic, InputError
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.server.live_config import File, LiveConfig
from webhook.server.metrics import Metrics
from webhook.server.reload import Reload, ReloadedSource
from webhook.settings.configuration import Configuration

LOOKS = 4


@dataclass(slots=True)
class Seen:
    """Tells when a source has been read so often."""

    often: int
    reads: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def __call__(self) -> bytes:
        self.reads += 1
        if self.reads == self.often:
            self.loop.call_soon_threadsafe(self.enough.set)
        return b"content"


@pytest.fixture
def written() -> PipedLog:
    return PipedLog("info")


def raising(error: Exception) -> Callable[[Any], Any]:
    def prepare(_: Any) -> Any:
        raise error

    return prepare


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def watched(written: PipedLog, *sources: ReloadedSource, enough: asyncio.Event) -> list[dict[str, Any]]:
    """What is logged while sources are polled."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("webhook.server.reload.INTERVAL", 0.001)
        watching = asyncio.create_task(Reload(sources, written.log, Metrics()).watch())
        await asyncio.wait_for(enough.wait(), PATIENCE)
        await _cancelled(watching)
    return await asyncio.to_thread(written.end)


@pytest.mark.parametrize(
    "error",
    [InputError([Diagnostic("settings.yaml", 1, 2, "wrong")]), LookupError("a defect")],
    ids=["a refusal", "a defect"],
)
async def test_rejected_content_is_logged_once(written: PipedLog, error: Exception) -> None:
    seen = Seen(LOOKS)
    source = ReloadedSource("settings", seen, raising(error), _ignore)
    said = await watched(written, source, enough=seen.enough)
    assert [(event["event"], event["what"]) for event in said] == [("reload rejected", "settings")]


async def test_failing_source_does_not_block_next(written: PipedLog) -> None:
    taken = asyncio.Event()
    defect = ReloadedSource("client CA", lambda: b"x", raising(LookupError("a defect")), _ignore)
    healthy = ReloadedSource("certificate", lambda: b"y", lambda content: content, _setting(taken))
    said = await watched(written, defect, healthy, enough=taken)
    assert [(event["event"], event["what"]) for event in said] == [
        ("reload rejected", "client CA"),
        ("reloaded", "certificate"),
    ]
    assert said[0]["problem"].startswith("internal error: LookupError at test_reload_polling.py:")


async def test_loaded_source_is_not_read_at_start(written: PipedLog) -> None:
    read: list[str] = []
    taken: list[bytes] = []

    def source(what: str, loaded: bytes | None) -> ReloadedSource:
        def content() -> bytes:
            read.append(what)
            return b"x"

        return ReloadedSource(what, content, lambda prepared: prepared, _collecting(taken), loaded)

    await Reload([source("settings", b"x"), source("certificate", None)], written.log, Metrics()).first()
    assert (read, taken) == (["certificate"], [b"x"])


async def test_loaded_source_is_reloaded_when_it_has_changed(written: PipedLog) -> None:
    changed = asyncio.Event()
    same = ReloadedSource("facts", lambda: b"x", lambda content: content, _ignore, b"x")
    other = ReloadedSource("settings", lambda: b"y", lambda content: content, _setting(changed), b"x")
    said = await watched(written, same, other, enough=changed)
    assert [(event["event"], event["what"]) for event in said] == [("reloaded", "settings")]


async def test_refreshed_source_is_read_at_once_and_others_are_left_alone(written: PipedLog) -> None:
    read: list[str] = []
    contents = {"settings": b"x", "certificate": b"x"}

    def source(what: str) -> ReloadedSource:
        def content() -> bytes:
            read.append(what)
            return contents[what]

        return ReloadedSource(what, content, lambda prepared: prepared, _ignore, b"x")

    reload = Reload([source("settings"), source("certificate")], written.log, Metrics())
    await reload.refresh("settings")
    contents["settings"] = b"y"
    await asyncio.gather(*(reload.refresh("settings") for _ in range(5)))
    await reload.refresh("facts")
    assert read == ["settings"] * 6
    said = await asyncio.to_thread(written.end)
    assert [(event["event"], event["what"]) for event in said] == [("reloaded", "settings")]


async def test_installed_text_wins_over_file(written: PipedLog, tmp_path: Path) -> None:
    live = LiveConfig(_with_mode(b"enforce"), Facts(), written.log, Metrics())
    (source,) = live.sources(File(tmp_path / "missing", _with_mode, b"enforce"), None)
    reload = Reload([source], written.log, Metrics())
    live.installed_text = b"warn"
    await reload.refresh("settings")
    assert live.evaluator.snapshot.settings.mode == "warn"
    written.end()


async def _ignore(_: object) -> None:
    pass


def _setting(event: asyncio.Event) -> Callable[[Any], Awaitable[None]]:
    async def take(_: object) -> None:
        event.set()

    return take


def _collecting(taken: list[bytes]) -> Callable[[Any], Awaitable[None]]:
    async def take(content: bytes) -> None:
        taken.append(content)

    return take


def _with_mode(mode: bytes) -> Configuration:
    return Configuration(settings=Settings(mode=cast(Any, mode.decode())))
