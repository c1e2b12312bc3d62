"""Internal errors: the client reads one line, the log says where, and the next request is answered.

A test causes one by replacing a function with one that raises.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.client import HTTPException
from typing import Any

import pytest

from tests.server.certificates import Certificates
from tests.server.lines import PATIENCE
from tests.server.reviews import pod, review
from tests.server.within import Running, running
from webhook.server import reviews
from webhook.server.lifecycle import Supervisor

SECRET = "hunter2"  # noqa: S105 - a marker, to be found where it must not be


def broken(*_: Any, **__: Any) -> Any:
    raise LookupError(SECRET)


async def test_internal_error_is_logged_once_and_counted(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(certificates) as server:
        with monkeypatch.context() as patched:
            patched.setattr(reviews, "respond", broken)
            failed = await server.ask(server.client.review, "/mutate", review(pod()))
        following = await server.ask(server.client.review, "/mutate", review(pod(), uid="following"))
        await server.ask(lambda: server.log.event("review", uid="following"))
        metrics = (await server.ask(server.client.health, "/metrics")).body.decode()

    assert failed.status == 500
    assert failed.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "internal error; see the webhook's log",
        "reason": "InternalError",
        "code": 500,
    }
    assert following.status == 200
    assert 'gpushare_webhook_refused_requests_total{code="500"} 1.0' in metrics
    assert "gpushare_webhook_in_flight 0.0" in metrics
    lines = server.log.to_the_end()
    (logged,) = [event for event in map(json.loads, lines) if event["level"] == "error"]
    assert logged["event"] == "internal error"
    assert logged["error"].startswith("LookupError at test_internal_error.py:")
    assert logged["stack"].startswith("LookupError: server/test_internal_error.py:")
    assert " < server/reviews.py:" in logged["stack"]
    assert SECRET not in "".join(lines)
    assert "Traceback" not in "".join(lines)


async def test_failing_readiness_condition_gets_500(certificates: Certificates) -> None:
    async with running(certificates) as server:
        server.server.requirements["certificate rotation"] = broken
        failed = await server.ask(server.client.health, "/readyz")
        logged = await server.ask(lambda: server.log.event("internal error"))
    assert (failed.status, failed.json()["message"]) == (500, "internal error; see the webhook's log")
    assert logged["error"].startswith("LookupError at test_internal_error.py:")


@asynccontextmanager
async def accompanied(server: Running, run: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run a supervised task for the time of the context."""
    supervisor = Supervisor(server.server.log.event)
    supervisor.tasks["certificates"] = run
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("webhook.server.lifecycle.RESTART_AFTER", 0.001)
        supervisor.start()
        try:
            yield
        finally:
            await supervisor.stop()


async def wrapped() -> None:
    """Fail within a task group, as the certificate keeper does."""

    async def watching() -> None:
        try:
            broken()
        except LookupError as error:
            raise ValueError("not an event") from error

    async with asyncio.TaskGroup() as group:
        group.create_task(watching())


async def test_supervised_task_failure_is_logged_with_its_cause(certificates: Certificates) -> None:
    async with running(certificates) as server, accompanied(server, wrapped):
        logged = await server.ask(lambda: server.log.event("internal error", task="certificates"))
    _, wrong, cause = logged["error"].split("; ")
    assert re.fullmatch(r"with ValueError at test_internal_error\.py:\d+: not an event", wrong)
    assert re.fullmatch(rf"caused by LookupError at test_internal_error\.py:\d+: {SECRET}", cause)
    assert "; with ValueError: server/test_internal_error.py:" in logged["stack"]


async def test_supervised_task_cancelled_from_within_is_restarted(certificates: Certificates) -> None:
    """A library may end a call with CancelledError without a cancellation of the task."""
    restarted = asyncio.Event()
    runs: list[None] = []

    async def cancelled() -> None:
        runs.append(None)
        if len(runs) > 1:
            restarted.set()
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone

    async with running(certificates) as server, accompanied(server, cancelled):
        await asyncio.wait_for(restarted.wait(), PATIENCE)
        logged = await server.ask(lambda: server.log.event("internal error", task="certificates"))
    assert logged["error"].startswith("CancelledError at ")


async def test_supervised_task_failing_on_cancellation_ends(certificates: Certificates) -> None:
    began = asyncio.Event()

    async def stubborn() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise LookupError("cannot end") from None

    async with asyncio.timeout(PATIENCE), running(certificates) as server:
        async with accompanied(server, stubborn):
            await began.wait()
        logged = await server.ask(lambda: server.log.event("internal error", task="certificates"))
    assert logged["error"].endswith(": cannot end")


async def test_handshake_failure_is_logged_with_its_cause(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(certificates) as server:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "connect_accepted_socket", broken)
            with pytest.raises((OSError, HTTPException)):
                await server.ask(server.client.review, "/mutate", review(pod()))
        logged = await server.ask(lambda: server.log.event("handshake failed"))
    assert logged["error"].startswith("LookupError at test_internal_error.py:")
    assert "http/acceptor.py:" in logged["stack"]


async def test_library_failure_is_logged_with_cause_and_stack(certificates: Certificates) -> None:
    async with running(certificates) as server:
        try:
            await wrapped()
        except ExceptionGroup:
            logging.getLogger("asyncio").exception("Task failed\n%s", "x" * 10_000)
        logged = await server.ask(lambda: server.log.event("library", logger="asyncio"))
    assert len(logged["message"]) == 1024
    assert logged["message"].startswith("Task failed?xxx")
    assert "; caused by LookupError at test_internal_error.py:" in logged["error"]
    assert "; caused by LookupError: server/test_internal_error.py:" in logged["stack"]


async def test_library_log_with_wrong_arguments(certificates: Certificates) -> None:
    async with running(certificates) as server:
        logging.getLogger("library").warning("%d of %d", "one")
        logged = await server.ask(lambda: server.log.event("library", logger="library"))
    assert logged["message"] == "%d of %d"


async def test_unproven_patch_is_not_sent(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(certificates) as server:
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["webhook.admission.respond"], "verify", lambda *_: "/spec: has no parent")
            replied = await server.ask(server.client.review, "/mutate", review(pod(), uid="unproven"))
        logged = await server.ask(lambda: server.log.event("patch not sent", uid="unproven"))
        metrics = (await server.ask(server.client.health, "/metrics")).body.decode()

    assert replied.json()["response"] == {"uid": "unproven", "allowed": True}
    assert (logged["level"], logged["reason"]) == ("error", "/spec: has no parent")
    assert "gpushare_webhook_patch_proof_failures_total 1.0" in metrics
