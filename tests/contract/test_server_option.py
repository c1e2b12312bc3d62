"""`check --server` reports what a local check with the same settings reports, for every fixture, over TLS."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.contract.clients import Clients
from tests.contract.offline import facts_of, report
from tests.fixture import Fixture, Json, evaluator_of, load_all
from tests.server.certificates import Certificates

pytestmark = pytest.mark.asyncio(loop_scope="module")

DIFFER = {
    **dict.fromkeys(
        ("GPS001/queued-pod-without-gate", "GPS001/queued-pod-only-warns-before-kueue"),
        "a queue gates the pod before the final hook receives it, and here is none",
    ),
}
"""The fixtures on which a running webhook rightly differs, and why."""


@pytest.mark.exhaustive(every=8)
@pytest.mark.parametrize("fixture", load_all(), ids=lambda fixture: fixture.name)
async def test_fixture(fixture: Fixture, clients: Clients, certificates: Certificates, tmp_path: Path) -> None:
    facts = facts_of(fixture)
    client = await clients(fixture.settings, facts)
    url = f"https://localhost:{client.port}"
    given = tmp_path, fixture.object, fixture.namespace, fixture.settings, facts
    found = await asyncio.to_thread(report, *given, "--server", url, "--ca", certificates.authority)
    sent, differences = (found["summary"].pop(count) for count in ("sent", "differences"))
    assert found.pop("server") == url
    (result,) = found["results"] or [{}]
    assert result.pop("server", None) == (url if sent else None)
    local = report(*given)
    assert sent == is_sent(fixture, local)
    assert (found == local) is (fixture.name not in DIFFER), found
    assert (differences == 0) is (fixture.name not in DIFFER), found


def is_sent(fixture: Fixture, local: Json) -> bool:
    """Whether an object is sent: one of a known kind that holds a pod."""
    known = (fixture.group, fixture.object["kind"]) in evaluator_of(fixture).kinds
    return known and local["summary"]["skipped"] == 0
