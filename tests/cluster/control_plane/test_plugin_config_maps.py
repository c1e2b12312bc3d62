"""The entry for the device plugin's ConfigMaps on a real API server: refused ones are named, and none waits."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import chart_hooks
from tests.cluster.harness.hooks import namespace, rejection
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.hooks import LocalWebhook

SPACE = "nvidia-device-plugin"
PLUGIN = f"/api/v1/namespaces/{SPACE}"
MAPS = f"{PLUGIN}/configmaps"
WEBHOOKS = {"devicePluginConfigMaps": [f"{SPACE}/configs"]}
GOOD = "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"
REFUSED = GOOD.replace("replicas: 4", "replicas: 1")
NAMED = 'GPS030 "mps", sharing.mps.resources[0].replicas: the device plugin refuses this'


@pytest.fixture(scope="module", autouse=True)
def _namespace(running: ControlPlaneOnly) -> Iterator[None]:
    """The plugin's namespace, which is exempt by default."""
    with namespace(running, SPACE):
        yield


def config_map(text: str = GOOD, name: str = "configs", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "data": {"mps": text}}


@contextmanager
def _product(running: ControlPlaneOnly, **settings: Any) -> Iterator[LocalWebhook]:
    """The chart's configurations, with the product behind them, in force for the ConfigMap too."""
    with chart_hooks(running, settings, WEBHOOKS) as beside:
        wait_for("the entry to be in force", lambda: NAMED in _answer(running, config_map(REFUSED)))
        yield beside


def _answer(running: ControlPlaneOnly, manifest: Object) -> str:
    """The warnings or the rejection for a new ConfigMap; empty without either."""
    code, headers, body = running.api.request("POST", f"{MAPS}?dryRun=All", manifest)
    said: str = headers.get("Warning", "") if code < 300 else json.loads(body)["message"]
    return said.replace('\\"', '"')


def test_refused_configuration_is_stored_with_warning(running: ControlPlaneOnly) -> None:
    with _product(running):
        said = running.kubectl.run(
            "create",
            "-f",
            "-",
            manifest={"apiVersion": "v1", "kind": "ConfigMap", **config_map(REFUSED, namespace=SPACE)},
        )
        assert said.returncode == 0, said.stderr
        assert f"Warning: {NAMED}" in said.stderr
        assert running.api.warnings("PUT", f"{MAPS}/configs", config_map(GOOD)) == []
        running.api.delete(f"{MAPS}/configs")


def test_refused_configuration_is_denied_with_severities(running: ControlPlaneOnly) -> None:
    with _product(running, severities={"GPS030": "deny"}):
        running.api.create(MAPS, config_map())
        with pytest.raises(ApiError) as denied:
            running.api.patch(f"{MAPS}/configs", {"data": {"mps": REFUSED}})
        assert (denied.value.code, denied.value.reason) == (403, "Forbidden")
        assert NAMED in denied.value.message
        assert running.api.get(f"{MAPS}/configs")["data"] == {"mps": GOOD}
        running.api.delete(f"{MAPS}/configs")


def test_dead_webhook_lets_configuration_through(running: ControlPlaneOnly) -> None:
    with _product(running, severities={"GPS030": "deny"}) as beside:
        beside.process.stop()
        assert "failed calling webhook" in rejection(running, pod("probe"))
        assert running.api.create(MAPS, config_map(REFUSED))["data"] == {"mps": REFUSED}
        running.api.patch(f"{MAPS}/configs", {"data": {"mps": f"{REFUSED}# changed\n"}})
        running.api.delete(f"{MAPS}/configs")
