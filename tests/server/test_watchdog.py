"""A stalled event loop is noticed: where it hangs, for how long, and how often."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import threading
from typing import Any

import pytest

from tests.server.certificates import Certificates
from tests.server.client import measured, reply, request
from tests.server.lines import PATIENCE
from tests.server.process import serve
from tests.server.reviews import pod, review
from tests.server.within import running
from webhook.admission import respond
from webhook.server import reviews

pytestmark = pytest.mark.slow


async def test_loop_stall_is_logged_with_place_and_length(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(certificates) as server:

        def hangs(*arguments: Any) -> Any:
            """Block the loop until the stall is logged."""
            server.log.event("event loop stalled")
            return respond(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(reviews, "respond", hangs)
            answer = await server.ask(server.client.review, "/mutate", review(pod()))
        recovered = await server.ask(lambda: server.log.event("event loop recovered"))
        stalled = server.log.event("event loop stalled")
        metrics = (await server.ask(server.client.health, "/metrics")).body.decode()
    assert answer.status == 200
    assert " hangs" in stalled["where"]
    assert "test_watchdog.py:" in stalled["where"]
    assert "/" not in stalled["where"]
    assert recovered["seconds"] >= 1
    assert 'gpushare_webhook_loop_stalls_total{cause="loop"} 1.0' in metrics
    assert 'gpushare_webhook_loop_lag_seconds_bucket{le="0.5"}' in metrics


async def test_review_that_waited_through_stall_is_shed(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes were unread while the loop stalled: more than half of its second is over."""
    async with running(certificates) as server:
        begun, asked = threading.Event(), threading.Event()

        def hangs(*arguments: Any) -> Any:
            begun.set()
            assert asked.wait(PATIENCE)
            server.log.event("event loop stalled")
            return respond(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(reviews, "respond", hangs)
            connection = await server.ask(server.client.connect)
            first = asyncio.create_task(server.ask(server.client.review, "/mutate?timeout=1s", review(pod())))
            late = asyncio.create_task(server.ask(late_review, connection, begun, asked))
            assert (await first).status == 200
            assert (await late) == 503
        metrics = (await server.ask(server.client.health, "/metrics")).body.decode()
    assert 'gpushare_webhook_shed_total{reason="late"} 1.0' in metrics


def late_review(connection: ssl.SSLSocket, begun: threading.Event, asked: threading.Event) -> int:
    """Ask on a connection that stands, while the loop hangs: the status of the answer."""
    assert begun.wait(PATIENCE)
    with connection:
        connection.sendall(request("POST", "/mutate?timeout=1s", json.dumps(review(pod())).encode()))
        asked.set()
        return reply(connection).status


def test_suspended_process_logs_stall_and_sheds_late_review(certificates: Certificates) -> None:
    asked = request("POST", "/mutate?timeout=1s", json.dumps(review(pod())).encode())
    with serve(certificates) as server, server.client.connect() as connection:
        connection.sendall(asked)
        assert reply(connection).status == 200
        server.process.send_signal(signal.SIGSTOP)
        connection.sendall(asked)
        threading.Event().wait(1.5)  # the length of the pause is what the test is about
        server.process.send_signal(signal.SIGCONT)
        assert reply(connection).status == 503
        assert server.log.event("process stalled")["seconds"] > 1
        assert measured(server.client, 'loop_stalls_total{cause="process"}') == 1
        assert server.client.review("/mutate", review(pod())).status == 200
