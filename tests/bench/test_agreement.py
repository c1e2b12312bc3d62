"""Servers that do not do the same work are not compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.agreement import DisagreementError, check
from bench.candidates import WEBHOOK, Running, constant, make_certificates, running, serving
from bench.corpus import TWO
from bench.machine import Machine
from tests.cluster.harness.interpreters import at_hand

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def webhook() -> Iterator[Running]:
    make_certificates()
    with running(serving(WEBHOOK, at_hand()), Machine.here()) as server:
        yield server


@pytest.fixture(scope="module")
def floor() -> Iterator[Running]:
    make_certificates()
    with running(constant(at_hand()), Machine.here()) as server:
        yield server


def test_webhook_and_floor_may_be_compared(webhook: Running, floor: Running) -> None:
    check([webhook, floor], [TWO])


def test_server_that_changes_no_pod_is_refused(webhook: Running, floor: Running) -> None:
    idle = replace(floor, candidate=replace(floor.candidate, decides=True))
    with pytest.raises(DisagreementError, match="constant answer, mutated 2 kB: 0 operations"):
        check([webhook, idle], [TWO])
