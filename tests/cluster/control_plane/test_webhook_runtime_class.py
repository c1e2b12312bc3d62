"""The runtime class that the product injects, in clusters that lack it or name it otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError, Object
from tests.cluster.harness.hooks import local_webhook, rejection
from tests.cluster.harness.manifests import CLASSES, PODS, container, deployment, pod
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly

ABSENT = 'pod rejected: RuntimeClass "nvidia" not found'


@pytest.fixture(scope="module", autouse=True)
def _other_class(running: ControlPlaneOnly) -> Iterator[None]:
    """The runtime class has another name than the one that the product injects."""
    with (
        running.api.created(CLASSES, {"metadata": {"name": "gpu"}, "handler": "nvidia"}),
        running.api.deleted(f"{CLASSES}/nvidia"),
    ):
        named = pod("named", runtimeClassName="nvidia")
        wait_for("the class to be forgotten", lambda: ABSENT in rejection(running, named))
        yield


def _settings(**runtime_class: object) -> Object:
    return {"injections": {"runtimeClass": runtime_class}}


def test_missing_runtime_class_rejects_gpu_pods(running: ControlPlaneOnly) -> None:
    with local_webhook(running):
        with pytest.raises(ApiError, match=ABSENT) as refused:
            running.api.create(PODS, pod("lost"))
        assert refused.value.code == 403
        running.api.create(f"{PODS}?dryRun=All", pod("plain", container(gpus=0)))


def test_deployment_status_reports_missing_runtime_class(running: ControlPlaneOnly) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    with local_webhook(running):
        running.api.create(path, deployment("lost"))
        running.api.wait_for(f"{path}/lost", "to report the missing class", lambda now: ABSENT in str(now["status"]))
        running.api.delete(f"{path}/lost?propagationPolicy=Foreground")


@pytest.mark.parametrize(
    ("settings", "injected"),
    [
        (_settings(whenUnknown="skip"), None),
        (_settings(enabled=False), None),
        (_settings(name="gpu"), "gpu"),
    ],
)
def test_disabled_runtime_class_injection_admits_pods(
    running: ControlPlaneOnly, settings: Object, injected: str | None
) -> None:
    with local_webhook(running, settings=settings):
        stored = running.api.create(f"{PODS}?dryRun=All", pod("found"))
    assert stored["spec"].get("runtimeClassName") == injected


def test_conflicting_runtime_class_node_selector_rejects_pod(running: ControlPlaneOnly) -> None:
    scheduling = {"nodeSelector": {"pool": "gpu"}}
    scheduled = {"metadata": {"name": "nvidia"}, "handler": "nvidia", "scheduling": scheduling}
    with running.api.created(CLASSES, scheduled), local_webhook(running):
        with pytest.raises(ApiError, match="conflict"):
            running.api.create(PODS, pod("elsewhere", nodeSelector={"pool": "other"}))
        stored = running.api.create(f"{PODS}?dryRun=All", pod("anywhere"))
    assert stored["spec"]["nodeSelector"] == {"pool": "gpu"}
