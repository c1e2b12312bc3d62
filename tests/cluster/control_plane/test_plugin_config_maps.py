"""The entry for the device plugin's ConfigMaps on a real API server: called for them alone, and never in the way."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.chart.render import FULLNAME, entry
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import chart_hooks
from tests.cluster.harness.hooks import VALIDATING, namespace, rejection
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.standin import StandIn, allow, stand_in
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


@pytest.fixture
def recorded(running: ControlPlaneOnly) -> Iterator[StandIn]:
    """A stand-in to which the chart's entry sends its objects, in force."""
    rendered = entry("device-plugin-configurations.validate", {"webhooks": WEBHOOKS})
    with stand_in(running.place, allow) as webhook:
        entries = [{**rendered, "clientConfig": webhook.client_config(), "failurePolicy": "Fail"}]
        with running.api.created(VALIDATING, {"metadata": {"name": FULLNAME}, "webhooks": entries}):
            wait_for("the entry to be in force", lambda: _is_sent(running, webhook))
            webhook.reviews.clear()
            yield webhook
        wait_for("the entry to be forgotten", lambda: not _is_sent(running, webhook))


def _is_sent(running: ControlPlaneOnly, webhook: StandIn) -> bool:
    before = len(webhook.reviews)
    running.api.create(f"{MAPS}?dryRun=All", config_map())
    return len(webhook.reviews) > before


def _operations(webhook: StandIn) -> list[tuple[str, str]]:
    """The operation and the name of each object that was sent since the last call."""
    found = [(one["request"]["operation"], one["request"]["name"]) for one in webhook.reviews]
    webhook.reviews.clear()
    return found


def test_named_config_map_is_sent_when_its_data_is_new(running: ControlPlaneOnly, recorded: StandIn) -> None:
    running.api.create(MAPS, config_map())
    assert _operations(recorded) == [("CREATE", "configs")]
    running.api.patch(f"{MAPS}/configs", {"data": {"mps": REFUSED}})
    running.kubectl("patch", "configmap", "configs", f"--namespace={SPACE}", "--patch", '{"data": {"b": "c"}}')
    assert _operations(recorded) == [("UPDATE", "configs")] * 2
    running.api.patch(f"{MAPS}/configs", {"metadata": {"labels": {"a": "b"}}})
    running.kubectl("annotate", "configmap", "configs", f"--namespace={SPACE}", "a=b")
    running.api.delete(f"{MAPS}/configs")
    assert _operations(recorded) == []


def _write_others(running: ControlPlaneOnly) -> None:
    """Make, change and delete other objects in the plugin's namespace, and one of the same name in another."""
    plain = container(gpus=0)
    others: list[tuple[str, Object]] = [
        (MAPS, config_map(name="other")),
        (MAPS, config_map(name="configs-2")),
        ("/api/v1/namespaces/default/configmaps", config_map()),
        (f"{PLUGIN}/secrets", {"metadata": {"name": "configs"}, "stringData": {"mps": REFUSED}}),
        (f"{PLUGIN}/pods", pod("configs", plain)),
        (f"{PLUGIN}/pods", pod("with-gpu")),
        (f"{PLUGIN}/services", {"metadata": {"name": "configs"}, "spec": {"ports": [{"port": 80}]}}),
        (f"{PLUGIN}/serviceaccounts", {"metadata": {"name": "configs"}}),
        (f"/apis/apps/v1/namespaces/{SPACE}/deployments", deployment("configs", plain, replicas=0)),
        (f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases", {"metadata": {"name": "configs"}}),
    ]
    for path, manifest in others:
        name = manifest["metadata"]["name"]
        running.api.create(path, manifest)
        running.api.patch(f"{path}/{name}", {"metadata": {"labels": {"a": "b"}}})
        running.api.delete(f"{path}/{name}")
    generated = running.api.create(MAPS, {"metadata": {"generateName": "configs"}, "data": {"mps": REFUSED}})
    running.api.delete(f"{MAPS}/{generated['metadata']['name']}")


def test_no_other_object_of_the_namespace_is_sent(running: ControlPlaneOnly, recorded: StandIn) -> None:
    _write_others(running)
    assert _operations(recorded) == []
    assert _is_sent(running, recorded), "the entry was in force all the time"


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
