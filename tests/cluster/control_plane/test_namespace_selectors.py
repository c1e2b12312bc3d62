"""Namespaces that select the nodes of their pods, with the admission plugin PodNodeSelector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError, Object
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import local_webhook, namespace, rejection
from tests.cluster.harness.manifests import CLASSES, STRATEGY, container, deployment, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

SELECTOR = {"scheduler.alpha.kubernetes.io/node-selector": f"{STRATEGY}=none"}
TWO = container(gpus=2)


@pytest.fixture(scope="module", params=[True, False], ids=["namespaces known", "namespaces unknown"])
def selecting(needs_control_plane: None, request: pytest.FixtureRequest) -> Iterator[tuple[ControlPlaneOnly, bool]]:
    """A control plane with the plugin, and the product, which reads namespaces or not."""
    options = ControlPlaneOptions(admission_plugins=("PodNodeSelector",))
    with (
        control_plane(options, place=Loopback) as started,
        started.api.created(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"}),
        local_webhook(
            started,
            settings={"facts": {"namespaces": request.param}},
            kubeconfig=started.control.kubeconfigs["admin"] if request.param else None,
        ),
    ):
        yield started, request.param


def _template_refused(running: ControlPlaneOnly, space: str) -> str:
    try:
        running.api.create(f"/apis/apps/v1/namespaces/{space}/deployments?dryRun=All", deployment("two", TWO))
    except ApiError as refused:
        return refused.message
    return ""


def test_template_over_limit_is_admitted_where_namespace_selects_whole_cards(
    selecting: tuple[ControlPlaneOnly, bool],
) -> None:
    running, reads_namespaces = selecting
    with namespace(running, "whole") as path, namespace(running, "plain"):
        running.api.patch(path, {"metadata": {"annotations": SELECTOR}})
        wait_for("the selector to be in force", lambda: rejection(running, pod("two", TWO), "whole") == "")
        assert "GPS001" in rejection(running, pod("two", TWO), "plain")
        assert "GPS001" in _template_refused(running, "plain")
        if reads_namespaces:
            wait_for("the selector to be known", lambda: _template_refused(running, "whole") == "")
        else:
            assert "unless the namespace selects nodes" in _template_refused(running, "whole")


def test_pod_is_bound_by_selector_of_namespace(selecting: tuple[ControlPlaneOnly, bool]) -> None:
    running, _ = selecting
    with namespace(running, "bound") as path:
        running.api.patch(path, {"metadata": {"annotations": SELECTOR}})

        def selector() -> Object:
            found: Object = running.api.create(f"{path}/pods?dryRun=All", pod("one"))["spec"].get("nodeSelector", {})
            return found

        wait_for("the plugin to add the selector", lambda: selector() == {STRATEGY: "none"})
