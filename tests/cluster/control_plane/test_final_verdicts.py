"""With `denyInMutate: false`, as in the chart, the verdict is about the pod as all mutating webhooks leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.hooks import local_webhook, rejection
from tests.cluster.harness.manifests import GPU, STRATEGY, container, labelled, pod
from tests.cluster.harness.standin import Answer, allow, is_called, registered, stand_in
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

GATE: Object = {"path": "/spec/schedulingGates", "value": [{"name": "example.com/wait"}]}
WHOLE: Object = {"path": "/spec/nodeSelector", "value": {STRATEGY: "none"}}
MPS: Object = {"path": "/spec/nodeSelector", "value": {STRATEGY: "mps"}}
TOLERATION: Object = {"path": "/spec/tolerations/-", "value": {"key": GPU, "operator": "Exists"}}
DENIAL = 'admission webhook "pods.validate.gpushare-webhook.io" denied the request: GPS001'


@pytest.fixture(scope="module", autouse=True)
def _product(running: ControlPlaneOnly) -> Iterator[None]:
    with local_webhook(running, settings={"denyInMutate": False}):
        yield


@pytest.mark.parametrize("name", ["aa-before", "zz-after"])
@pytest.mark.parametrize(
    ("added", "gpus", "is_denied"),
    [
        (GATE, 2, False),
        (WHOLE, 2, False),
        (MPS, 2, True),
        (TOLERATION, 2, True),
        (GATE, 1, False),
        (MPS, 1, False),
        (TOLERATION, 1, False),
    ],
    ids=["gate", "whole cards", "MPS nodes", "toleration", "gate, legal", "MPS nodes, legal", "toleration, legal"],
)
def test_pod_is_judged_as_neighbour_leaves_it(
    running: ControlPlaneOnly, name: str, added: Object, gpus: int, is_denied: bool
) -> None:
    def answer(review: Object) -> Answer:
        return allow(review, {"op": "add", **added})

    asking = labelled(pod("asks", container(gpus=gpus), tolerations=[{"key": "x"}]), called="yes")
    with (
        stand_in(running.place, answer) as neighbour,
        registered(running, neighbour, name, failurePolicy="Fail", reinvocationPolicy="Never"),
    ):
        wait_for("the neighbour to be called", lambda: is_called(running, neighbour))
        refused = rejection(running, asking)
    assert (DENIAL in refused) is is_denied, refused
    assert bool(refused) is is_denied
