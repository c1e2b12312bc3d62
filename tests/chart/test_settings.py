"""The settings file that the chart renders is the one that was given, and the product reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.render import MODES, Values, container, only, pod_spec
from webhook.cli.inputs import configuration
from webhook.policy.settings.units import Duration
from webhook.settings.configuration import Configuration

pytestmark = pytest.mark.slow

FULL: dict[str, Any] = {
    "apiVersion": "gpushare-webhook/v1",
    "kind": "Settings",
    "limits": {"perContainer": 2147483647, "perPod": None},
    "severities": {"GPS005": "off", "GPS007": False},
    "injections": {"tolerations": {"add": [{"key": "a", "effect": None}], "resourceName": False}},
    "namespaces": [{"names": ["a*"], "mode": None}],
    "placement": {"mpsLabels": {}, "nodeGroups": [{"name": "t4", "resources": {"nvidia.com/gpu": 4}}]},
    "server": {"host": "::", "bodyLimit": 29360128},
    "exempt": {"namespaces": []},
}


def settings_file(values: str | Values) -> str:
    """What the ConfigMap holds under the name that the program is told."""
    (volume,) = [one for one in pod_spec(values)["volumes"] if one["name"] == "settings"]
    config_map = only_settings(values)
    assert volume["configMap"]["name"] == config_map["metadata"]["name"]
    assert list(config_map["data"]) == ["settings.yaml"]
    text: str = config_map["data"]["settings.yaml"]
    return text


def only_settings(values: str | Values) -> dict[str, Any]:
    from tests.chart.render import FULLNAME, of_kind

    (found,) = [one for one in of_kind("ConfigMap", values) if one["metadata"]["name"] == FULLNAME]
    return found


def read(text: str, folder: Path) -> Configuration:
    """The configuration as `serve --config` reads it."""
    file = folder / "settings.yaml"
    file.write_text(text)
    return configuration(str(file))


@pytest.mark.parametrize("mode", MODES)
def test_the_product_reads_what_each_mode_renders(mode: str, tmp_path: Path) -> None:
    assert read(settings_file(mode), tmp_path)


def test_the_settings_are_rendered_unchanged(tmp_path: Path) -> None:
    values = {"config": FULL}
    assert yaml.safe_load(settings_file(values)) == FULL | {"facts": {"runtimeClasses": True}}
    held = read(settings_file(values), tmp_path)
    assert (held.settings.limits.per_container, held.settings.limits.per_pod) == (2147483647, None)
    assert held.server.body_limit == 28 * 2**20
    assert held.settings.severities == {"GPS005": "off", "GPS007": "off"}


def test_runtime_classes_are_read_unless_the_values_say_no(tmp_path: Path) -> None:
    assert read(settings_file("default"), tmp_path).settings.facts.runtime_classes is True
    for config in ({"facts": {"runtimeClasses": False}}, None):
        assert read(settings_file({"config": config}), tmp_path).settings.facts.runtime_classes is False


@pytest.mark.parametrize(
    ("server", "seconds"),
    [
        ({}, 25),
        ({"shutdownDelay": "0s", "drainTimeout": "0s"}, 5),
        ({"shutdownDelay": "1m30s"}, 105),
        ({"drainTimeout": "1h"}, 3615),
        ({"shutdownDelay": "100ms", "drainTimeout": "2500ms"}, 9),
        ({"shutdownDelay": "1m500ms", "drainTimeout": "4500ms"}, 71),
    ],
)
def test_a_pod_may_take_as_long_as_its_settings_say(server: dict[str, str], seconds: int) -> None:
    grace: int = pod_spec({"config": {"server": server}})["terminationGracePeriodSeconds"]
    assert grace == seconds
    parts = [Duration(may_be_zero=True).read(server.get(key, "10s")) for key in ("shutdownDelay", "drainTimeout")]
    assert sum(parts) + 5 <= grace < sum(parts) + 7


def test_the_grace_period_may_be_given() -> None:
    assert pod_spec("everything")["terminationGracePeriodSeconds"] == 90


def test_ports_follow_the_settings() -> None:
    ports = {port["name"]: port["containerPort"] for port in container("host-network")["ports"]}
    assert ports == {"https": 9443, "health": 9080}
    usual = {port["name"]: port["containerPort"] for port in container("default")["ports"]}
    held = Configuration().server
    assert usual == {"https": held.port, "health": held.health_port}


def rollout(config: dict[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = only("Deployment", {"config": config})["spec"]["template"]
    return found


def test_only_settings_that_need_a_restart_make_a_rollout() -> None:
    usual = rollout({})
    for config in ({"mode": "audit"}, {"limits": {"perPod": 2}}, {"severities": {"GPS005": "deny"}}):
        assert rollout(config) == usual
    for config in ({"log": {"level": "debug"}}, {"tls": {"minVersion": "1.2"}}, {"server": {"maxInFlight": 8}}):
        assert rollout(config) != usual


def test_watching_runtime_classes_or_not_makes_a_rollout() -> None:
    told = [
        rollout({"facts": {"runtimeClasses": reads}})["metadata"]["annotations"]["checksum/process-settings"]
        for reads in (True, False)
    ]
    assert len(set(told)) == 2
