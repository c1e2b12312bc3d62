"""RuntimeClasses as facts: unknown until read, reported once per change, kept when the API server is lost.

The API server is a fake with a script; `tests/cluster/test_rotation_api.py` reads them from a real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest

from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.cluster.runtime_classes import PATH, Classes, RuntimeClasses
from webhook.policy.placement.facts import RuntimeClass

NVIDIA = RuntimeClass("nvidia", "nvidia", {"gpu": "yes"})
RUNC = RuntimeClass("runc", "runc")


def found(one: RuntimeClass, version: int) -> dict[str, Any]:
    """A RuntimeClass as the API server gives it."""
    scheduling = {"scheduling": {"nodeSelector": one.node_selector}} if one.node_selector else {}
    return {"metadata": {"name": one.name, "resourceVersion": str(version)}, "handler": one.handler, **scheduling}


class Script:
    """A fake: lists what it holds, and watches send what a test puts into `events`; an exception breaks them off."""

    def __init__(self, *held: RuntimeClass) -> None:
        self.held = {one.name: one for one in held}
        self.version = 7
        self.status = 200
        self.down = False
        self.lists = 0
        self.watches: list[Mapping[str, str]] = []
        self.events_to_send: asyncio.Queue[Any] = asyncio.Queue()

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        assert (method, path, body) == ("GET", PATH, None)
        self.lists += 1
        await wait(0.01)
        if self.down:
            raise ConnectionError("no answer")
        items = [found(one, self.version) for one in self.held.values()]
        return self.status, {"metadata": {"resourceVersion": str(self.version)}, "items": items or None}

    async def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[Any, None]:
        assert path == PATH
        self.watches.append(query)
        while True:
            event = await self.events_to_send.get()
            if event is None:
                return
            if isinstance(event, Exception):
                raise event
            yield event

    def send(self, kind: str, one: RuntimeClass) -> None:
        self.version += 1
        self.events_to_send.put_nowait({"type": kind, "object": found(one, self.version)})


class Watched:
    """RuntimeClasses over a script, running, with all that they reported."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.changes: list[Classes] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.classes = RuntimeClasses(script, self.changes.append, self.log)
        self.task = asyncio.get_running_loop().create_task(self.classes.run())

    def log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        assert self.task.cancelled()


@virtual
async def test_classes_are_unknown_until_read_then_sorted() -> None:
    watched = Watched(Script(RUNC, NVIDIA))
    assert (watched.classes.known, watched.classes.age) == (None, None)
    await wait(1)
    assert watched.classes.known == (NVIDIA, RUNC)
    assert watched.changes == [(NVIDIA, RUNC)]
    assert watched.logged == [("info", "runtime classes read", {"names": ["nvidia", "runc"], "count": 2})]
    await watched.stop()


@virtual
async def test_no_classes_is_known_state() -> None:
    watched = Watched(Script())
    await wait(1)
    assert watched.changes == [()]
    await watched.stop()


@virtual
async def test_each_change_is_reported_once() -> None:
    watched = Watched(Script(RUNC))
    await wait(1)
    watched.script.send("ADDED", NVIDIA)
    await wait(1)
    watched.script.send("MODIFIED", RuntimeClass("runc", "other"))
    await wait(1)
    watched.script.send("MODIFIED", RuntimeClass("runc", "other"))
    watched.script.events_to_send.put_nowait({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "20"}}})
    watched.script.send("DELETED", NVIDIA)
    await wait(1)
    assert watched.changes == [
        (RUNC,),
        (NVIDIA, RUNC),
        (NVIDIA, RuntimeClass("runc", "other")),
        (RuntimeClass("runc", "other"),),
    ]
    await watched.stop()


@virtual
async def test_ended_watch_resumes_at_bookmark() -> None:
    watched = Watched(Script(RUNC))
    await wait(1)
    watched.script.events_to_send.put_nowait({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "99"}}})
    watched.script.events_to_send.put_nowait(None)
    await wait(10)
    assert watched.script.lists == 1
    assert [query["resourceVersion"] for query in watched.script.watches] == ["7", "99"]
    assert watched.classes.age is not None
    assert watched.classes.age >= 9
    await watched.stop()


@virtual
async def test_expired_version_lists_again() -> None:
    watched = Watched(Script(RUNC))
    await wait(1)
    watched.script.held["nvidia"] = NVIDIA
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}
    watched.script.events_to_send.put_nowait(gone)
    await wait(20)
    assert watched.script.lists == 2
    assert watched.logged[1][:2] == ("warning", "runtime classes cannot be watched")
    watched.script.send("MODIFIED", RUNC)
    await wait(1)
    assert [event for _, event, _ in watched.logged][2:] == ["runtime classes read", "runtime classes watched again"]
    assert watched.classes.known == (NVIDIA, RUNC)
    await watched.stop()


@virtual
async def test_known_classes_survive_lost_api_server() -> None:
    watched = Watched(Script(RUNC))
    await wait(20)
    watched.script.down = True
    watched.script.events_to_send.put_nowait(ConnectionError("broken off"))
    await wait(3600)
    assert watched.classes.known == (RUNC,)
    assert watched.classes.age is not None
    assert 3600 <= watched.classes.age <= 3621
    assert watched.script.lists < 120, "at most one list per minute"
    assert [event for _, event, _ in watched.logged] == ["runtime classes read", "runtime classes cannot be read"]
    watched.script.down = False
    watched.script.held = {"nvidia": NVIDIA}
    await wait(61)
    assert watched.changes == [(RUNC,), (NVIDIA,)]
    assert watched.classes.age < 61
    assert [event for _, event, _ in watched.logged][2:] == ["runtime classes read again", "runtime classes read"]
    await watched.stop()


@virtual
async def test_missing_right_is_logged_once() -> None:
    script = Script(RUNC)
    script.status = 403
    watched = Watched(script)
    await wait(3600)
    assert watched.classes.known is None
    assert len(watched.logged) == 1
    assert watched.logged[0][2] == {"error": "list of /apis/node.k8s.io/v1/runtimeclasses: 403"}
    await watched.stop()


MOST_TRIES = 27
"""In 600 s, where the waits are the shortest: 0.5, 1, 2, 4, 8 and 16 s, and then half a minute each."""


class Cut(Script):
    """Lists, and every watch ends at once: cut off with an error, or as if its time were over."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__(RUNC)
        self.events_to_send = Always(error)


class Always(asyncio.Queue[Any]):
    """Gives the same for ever."""

    def __init__(self, one: Any) -> None:
        super().__init__()
        self._one = one

    async def get(self) -> Any:
        await wait(0.01)
        return self._one


@pytest.mark.parametrize("error", [None, ConnectionError("watch of /x: 403 Forbidden")])
@virtual
async def test_short_lived_watches_back_off(error: Exception | None) -> None:
    watched = Watched(Cut(error))
    await wait(600)
    assert len(watched.script.watches) <= MOST_TRIES
    assert watched.script.lists <= MOST_TRIES
    assert watched.classes.age is not None
    assert watched.classes.age <= 61
    logged = [event for _, event, _ in watched.logged]
    assert logged == ["runtime classes read", *(["runtime classes cannot be watched"] if error else [])]
    await watched.stop()


@virtual
async def test_pending_until_read() -> None:
    script = Script(RUNC)
    script.status = 429
    watched = Watched(script)
    await wait(0.5)
    assert watched.classes.pending()
    script.status = 200
    await wait(4)
    assert not watched.classes.pending()
    script.down = True
    script.events_to_send.put_nowait(ConnectionError("broken off"))
    await wait(60)
    assert not watched.classes.pending()
    await watched.stop()


@virtual
async def test_pending_ends_after_ten_seconds() -> None:
    script = Script()
    script.down = True
    watched = Watched(script)
    await wait(9)
    assert watched.classes.pending()
    await wait(2)
    assert not watched.classes.pending()
    await watched.stop()


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ADDED", "object": {}},
        {"type": "ADDED", "object": {"metadata": {"resourceVersion": "8"}}},
        {"type": "BOOKMARK", "object": {"metadata": None}},
        {"type": "MODIFIED", "object": {**found(RUNC, 8), "scheduling": "soon"}},
        {"type": "ERROR", "object": {"message": "\x1b[31m" + "m" * 10_000}},
    ],
)
@virtual
async def test_malformed_event_is_logged_and_lists_again(event: dict[str, Any]) -> None:
    watched = Watched(Script(RUNC))
    await wait(1)
    watched.script.events_to_send.put_nowait(event)
    await wait(5)
    assert not watched.task.done()
    assert watched.script.lists == 2
    (said,) = [fields["error"] for _, what, fields in watched.logged if what == "runtime classes cannot be watched"]
    assert said.isprintable()
    assert len(said) <= 600
    await watched.stop()


@virtual
async def test_unknown_event_type_is_ignored() -> None:
    watched = Watched(Script(RUNC))
    await wait(1)
    for unknown in ({"type": "RENAMED", "object": {}}, {"type": "", "object": {"metadata": {"resourceVersion": "9"}}}):
        watched.script.events_to_send.put_nowait(unknown)
    watched.script.send("ADDED", NVIDIA)
    await wait(1)
    assert watched.classes.known == (NVIDIA, RUNC)
    assert watched.script.lists == 1
    await watched.stop()


@pytest.mark.parametrize("answer", [{}, {"metadata": {}}, {"metadata": {"resourceVersion": "1"}, "items": [{}]}])
@virtual
async def test_malformed_list_is_logged_and_retried(answer: dict[str, Any]) -> None:
    script = Script(RUNC)
    ask = script.request

    async def request(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return (200, answer) if script.down else await ask(method, path)

    script.request, script.down = request, True  # type: ignore[method-assign]
    watched = Watched(script)
    await wait(1)
    (said,) = [fields["error"] for _, what, fields in watched.logged if what == "runtime classes cannot be read"]
    assert said.startswith(f"list of {PATH}: not a list of the API server: ")
    script.down = False
    await wait(60)
    assert watched.classes.known == (RUNC,)
    await watched.stop()


@virtual
async def test_log_line_names_at_most_twenty_classes() -> None:
    watched = Watched(Script(*(RuntimeClass(f"{number:04}", "x") for number in range(1000))))
    await wait(1)
    ((_, _, fields),) = watched.logged
    assert (len(fields["names"]), fields["count"]) == (20, 1000)
    await watched.stop()


@virtual
async def test_failed_callback_is_retried() -> None:
    watched = Watched(Script(RUNC))
    takes: list[Classes] = []

    def failing_once(classes: Classes) -> None:
        takes.append(classes)
        if len(takes) == 1:
            raise LookupError("on purpose")

    classes = RuntimeClasses(watched.script, failing_once, watched.log)
    for _ in range(2):
        running = asyncio.create_task(classes.run())
        await wait(1)
        running.cancel()
        await asyncio.wait([running])
    assert takes == [(RUNC,), (RUNC,)]
    assert classes.known == (RUNC,)
    await watched.stop()
