"""The benchmark of creates through an API server calls every candidate, and all of them return the same pod."""

from __future__ import annotations

import pytest

from bench import apiserver
from bench.apiserver import CASE, P50, P99
from bench.machine import Machine
from bench.results import load
from bench.rounds import Rounds


@pytest.mark.exhaustive
def test_api_server_calls_each_candidate_in_turn(needs_control_plane: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apiserver, "WARM_UP", 2)
    found = apiserver.run(Machine.here(), Rounds(2, share=0.01))
    assert found.skipped == {}
    measured = [figure.subject for figure in found.having(quantity=P50)]
    assert measured == [figure.subject for figure in load(apiserver.NAME).having(quantity=P50)]
    for name in measured:
        middle, slow = (found.figure(name, CASE, quantity).values for quantity in (P50, P99))
        assert [pair for pair in zip(middle, slow, strict=True) if not 0 < pair[0] <= pair[1]] == [], name
