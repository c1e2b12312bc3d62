"""The API server restarts while pods are created."""

from __future__ import annotations

from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING, Literal

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import DRY_POD, is_mutated
from tests.cluster.harness.manifests import CLASSES, container, pod
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

Outcome = Literal["mutated", "unmutated", "denied", "unreachable"]
_PAUSE = 0.02


@pytest.fixture(scope="module")
def restarting(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with (
        control_plane() as started,
        started.api.created(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"}),
        chart_hooks(started),
    ):
        yield started


def _outcome(running: ControlPlaneOnly, gpus: int) -> Outcome:
    try:
        created = running.api.create(DRY_POD, pod("asks", container(gpus=gpus)))
    except ApiError as refused:
        # A starting API server says so until its admission plugins have read their objects.
        return "denied" if TWO in refused.message else "unreachable"
    except OSError:
        return "unreachable"
    return "mutated" if is_mutated(created) else "unmutated"


def test_restart_of_api_server_keeps_verdicts(restarting: ControlPlaneOnly) -> None:
    answered: list[tuple[int, Outcome]] = []
    over = Event()

    def create() -> None:
        for number in count():
            if over.wait(_PAUSE):
                return
            gpus = number % 3
            answered.append((gpus, _outcome(restarting, gpus)))

    def wait_for_more() -> None:
        wanted = len(answered) + 60
        wait_for("60 more creates", lambda: len(answered) >= wanted)

    client = Thread(target=create, name="creates")
    client.start()
    try:
        wait_for_more()
        restarting.control.restart_api_server()
        before = len(answered)
        wait_for_more()
    finally:
        over.set()
        client.join()
    verdicts = {one for one in answered if one[1] != "unreachable"}
    assert verdicts == {(0, "unmutated"), (1, "mutated"), (2, "denied")}
    assert "unreachable" not in {outcome for _, outcome in answered[before + 5 :]}
