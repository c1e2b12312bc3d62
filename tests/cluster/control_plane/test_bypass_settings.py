"""Attempts whose result depends on a setting of the administrator: the chart's hooks on a real API server.

`docs/explanation/bypass.md` lists each attempt with its result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.hooks import DRY_POD, namespace, rejection
from tests.cluster.harness.manifests import annotated, container, labelled, pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly

TWO_GPUS = pod("two", container(gpus=2))
PLAIN = container(gpus=0)
VOID = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
SEES_ALL = {**PLAIN, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
SETTINGS = {
    "exempt": {"annotation": "example.com/unchecked", "namespaces": ["kube-system"]},
    "injections": {"voidDevices": {"enabled": True, "pods": "all"}},
    "severities": {"GPS007": "deny", "GPS019": "deny"},
}
SELECTOR = {"matchExpressions": [{"key": "unchecked", "operator": "DoesNotExist"}]}


@pytest.fixture(scope="module", autouse=True)
def _hooks(running: ControlPlaneOnly) -> Iterator[None]:
    with chart_hooks(running, SETTINGS, {"ignoreLabel": True, "objectSelector": SELECTOR}):
        yield


def test_exempt_annotation_passes_where_administrator_names_it(running: ControlPlaneOnly) -> None:
    assert rejection(running, annotated(TWO_GPUS, **{"example.com/unchecked": "true"})) == ""
    assert TWO in rejection(running, annotated(TWO_GPUS, **{"example.com/unchecked": "yes"}))


def test_namespace_label_passes_where_administrator_allows_it(running: ControlPlaneOnly) -> None:
    with namespace(running, "opted-out", **{"gpushare-webhook/ignore": "true"}) as path:
        assert running.api.create(f"{path}/pods?dryRun=All", TWO_GPUS)["kind"] == "Pod"


def test_object_label_passes_where_administrator_selects_objects(running: ControlPlaneOnly) -> None:
    assert rejection(running, labelled(TWO_GPUS, unchecked="")) == ""
    assert TWO in rejection(running, TWO_GPUS)


def test_namespace_that_is_not_exempt_is_checked(running: ControlPlaneOnly) -> None:
    """The remedy for a name of the list that does not exist: take it off the list."""
    with namespace(running, "gpu-operator") as path, pytest.raises(ApiError, match="GPS001"):
        running.api.create(f"{path}/pods", TWO_GPUS)


def test_visible_devices_are_rejected_where_gps007_denies(running: ControlPlaneOnly) -> None:
    assert "GPS007" in rejection(running, pod("x", SEES_ALL))


def test_visible_devices_of_image_are_overridden_where_void_devices_covers_all_pods(running: ControlPlaneOnly) -> None:
    stored = running.api.create(DRY_POD, pod("x", {**PLAIN, "envFrom": [{"configMapRef": {"name": "devices"}}]}))
    assert VOID in stored["spec"]["containers"][0]["env"]


def test_too_many_containers_to_edit_are_rejected_where_gps019_denies(running: ControlPlaneOnly) -> None:
    many = [container(f"i{index}", gpus=0) for index in range(4_100)]
    code, _, answer = running.api.request("POST", DRY_POD, pod("x", PLAIN, initContainers=many))
    assert code == 403
    assert "GPS019" in json.loads(answer)["message"]
