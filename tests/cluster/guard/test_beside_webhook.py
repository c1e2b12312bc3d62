"""The guard beside a webhook that answers: it leaves each pod to `/validate`, whose whole message the user sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.run import run
from tests.cluster.harness.chart_hooks import gpu_control_plane
from tests.cluster.harness.health import total
from tests.cluster.harness.hooks import hooks, local_webhook_process, namespace, rejection
from tests.cluster.harness.manifests import annotated, container, pod
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly

NAME = "gpushare-webhook"
SETTINGS = {"denyInMutate": False, "guard": {"enabled": True}, "messageSuffix": "Ask #gpu-help."}
TWO = pod("two", container(gpus=2))
BY_GUARD, BY_WEBHOOK = "ValidatingAdmissionPolicy", "pods.validate.gpushare-webhook.io"


@pytest.fixture(scope="module")
def guarded(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with gpu_control_plane() as running, namespace(running, NAME):
        running.kubectl("apply", "--server-side", "-f", "-", manifest=run("export", "guard", "--config=/dev/null").out)
        wait_for("the guard to deny", lambda: BY_GUARD in rejection(running, TWO), seconds=120)
        yield running


def _denials(running: ControlPlaneOnly) -> float:
    """The requests that policies have denied, by the API server's own count."""
    _, _, text = running.api.request("GET", "/metrics")
    return total(text.decode(), "apiserver_validating_admission_policy_check_total", enforcement_action="deny")


def test_webhook_answers_while_it_lives_and_guard_afterwards(guarded: ControlPlaneOnly) -> None:
    with (
        local_webhook_process(guarded, settings=SETTINGS) as beside,
        hooks(guarded, beside.client_config, lambda: BY_WEBHOOK in rejection(guarded, TWO)),
    ):
        before = _denials(guarded)
        refused = rejection(guarded, TWO)
        assert BY_WEBHOOK in refused
        assert 'container "main" asks for 2 of "nvidia.com/gpu"' in refused
        assert refused.endswith("Ask #gpu-help.")
        assert rejection(guarded, annotated(TWO, **{"gpushare-webhook/injected": ""})) == refused
        assert not rejection(guarded, pod("one"))
        assert _denials(guarded) == before
    assert BY_GUARD in rejection(guarded, TWO)
    assert not rejection(guarded, annotated(TWO, **{"gpushare-webhook/injected": ""}))
