"""A defect of ours: the client reads one line, the journal tells where, and the next request is answered.

The defect is made by putting a function that raises in the place of one that does not.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.server.certificates import Certificates
from tests.server.reviews import pod, review
from tests.server.within import running
from webhook.server import reviews

SECRET = "hunter2"  # noqa: S105 - a marker, to be found where it must not be


def broken(*_: Any) -> Any:
    raise LookupError(SECRET)


async def test_an_internal_error_is_told_once_and_counted(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(certificates) as server:
        with monkeypatch.context() as patched:
            patched.setattr(reviews, "respond", broken)
            failed = await server.ask(server.client.review, "/mutate", review(pod()))
        following = await server.ask(server.client.review, "/mutate", review(pod(), uid="following"))
        await server.ask(lambda: server.journal.event("review", uid="following"))
        metrics = (await server.ask(server.client.health, "/metrics")).body.decode()

    assert failed.status == 500
    assert failed.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "internal error; the journal tells more",
        "reason": "InternalError",
        "code": 500,
    }
    assert following.status == 200
    assert 'gpushare_webhook_refused_requests_total{code="500"} 1.0' in metrics
    assert "gpushare_webhook_in_flight 0.0" in metrics
    lines = server.journal.to_the_end()
    (told,) = [event for event in map(json.loads, lines) if event["level"] == "error"]
    assert told["event"] == "internal error"
    assert told["error"].startswith("LookupError at test_internal_error.py:")
    assert SECRET not in "".join(lines)
    assert "Traceback" not in "".join(lines)


async def test_a_readiness_that_fails_is_told_as_what_it_is(certificates: Certificates) -> None:
    async with running(certificates) as server:
        server.server.requirements["certificate rotation"] = broken
        failed = await server.ask(server.client.health, "/readyz")
        told = await server.ask(lambda: server.journal.event("internal error"))
    assert (failed.status, failed.json()["message"]) == (500, "internal error; the journal tells more")
    assert told["error"].startswith("LookupError at test_internal_error.py:")


async def test_a_patch_without_proof_is_not_sent(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(certificates) as server:
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["webhook.admission.respond"], "flaw", lambda *_: "/spec: has no parent")
            replied = await server.ask(server.client.review, "/mutate", review(pod(), uid="unproven"))
        told = await server.ask(lambda: server.journal.event("patch not sent", uid="unproven"))
        metrics = (await server.ask(server.client.health, "/metrics")).body.decode()

    assert replied.json()["response"] == {"uid": "unproven", "allowed": True}
    assert (told["level"], told["reason"]) == ("error", "/spec: has no parent")
    assert "gpushare_webhook_patch_proof_failures_total 1.0" in metrics
