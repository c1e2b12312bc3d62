"""Servers that do not do the same work are not compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.agreement import DisagreementError, check
from bench.candidates import CANDIDATES, CONSTANT, WEBHOOK, Running, make_certificates, running
from bench.corpus import TWO
from bench.machine import Machine

pytestmark = pytest.mark.slow

BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}


@pytest.fixture(scope="module")
def webhook() -> Iterator[Running]:
    make_certificates()
    with running(BY_NAME[WEBHOOK], Machine.here()) as server:
        yield server


@pytest.fixture(scope="module")
def constant() -> Iterator[Running]:
    make_certificates()
    with running(BY_NAME[CONSTANT], Machine.here()) as server:
        yield server


def test_webhook_and_floor_may_be_compared(webhook: Running, constant: Running) -> None:
    check([webhook, constant], [TWO])


def test_server_that_changes_no_pod_is_refused(webhook: Running, constant: Running) -> None:
    idle = replace(constant, candidate=replace(constant.candidate, decides=True))
    with pytest.raises(DisagreementError, match="constant answer, mutated 2 kB: 0 operations"):
        check([webhook, idle], [TWO])
