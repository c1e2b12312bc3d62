"""A webhook process that reads facts from a real API server: its verdicts follow a change of every source."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.reviews import Reviewer, reviewer
from tests.cluster.harness.waiting import wait_for
from tests.cluster.sources import CHANGES, SETTINGS, Change, Sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.alone

SECONDS = 2.0
"""How soon a change must show in verdicts."""

ALLOWANCE = 3.0
"""Added to it, because the cluster and other programs share the processors of the machine that runs the tests."""


@pytest.fixture(scope="module")
def server(fact_sources: Sources) -> Iterator[Reviewer]:
    with reviewer(fact_sources.running, SETTINGS, fact_sources.kubeconfig) as started:
        yield started


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_verdicts_follow_change(
    fact_sources: Sources, server: Reviewer, change: Change, record_property: Callable[[str, object], None]
) -> None:
    wait_for("the facts to be in force", lambda: not change.shown(server))
    with change.make(fact_sources.running.api):
        changed = time.monotonic()
        wait_for("the change", lambda: change.shown(server), seconds=SECONDS + ALLOWANCE, every=0.05)
        record_property("in verdicts after", f"{time.monotonic() - changed:.2f} s")
    undone = time.monotonic()
    wait_for("the change to be undone", lambda: not change.shown(server), seconds=SECONDS + ALLOWANCE, every=0.05)
    record_property("undone in verdicts after", f"{time.monotonic() - undone:.2f} s")
    assert server.webhook.process.running
