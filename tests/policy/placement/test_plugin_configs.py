"""Which of the device plugin's configurations a node uses."""

from __future__ import annotations

import pytest

from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig
from webhook.policy.placement.node_classes import CONFIG_LABEL, PluginConfigs
from webhook.policy.settings.settings import Limits
from webhook.policy.snapshot import ContainerLimits

SHARED, WHOLE = PluginConfig("shared", "mps"), PluginConfig("whole")


@pytest.mark.parametrize(
    ("labels", "default", "expected"),
    [
        ({CONFIG_LABEL: "whole"}, "shared", WHOLE),
        ({}, "shared", SHARED),
        ({CONFIG_LABEL: ""}, "shared", SHARED),
        ({CONFIG_LABEL: "gone"}, "shared", None),
        ({}, "gone", None),
        ({}, None, None),
        ({CONFIG_LABEL: "shared"}, None, SHARED),
        ({}, "", PluginConfig("")),
        ({CONFIG_LABEL: ""}, "", PluginConfig("")),
        ({CONFIG_LABEL: "shared"}, "", SHARED),
    ],
)
def test_configuration_of_node(labels: dict[str, str], default: str | None, expected: PluginConfig | None) -> None:
    configs = PluginConfigs(DevicePlugin(configs=(SHARED, WHOLE), default_config=default))
    assert configs.of(Node("a", labels)) == expected


def test_configuration_without_device_plugin_is_unknown() -> None:
    assert PluginConfigs(None).of(Node("a", {CONFIG_LABEL: "shared"})) is None


@pytest.mark.parametrize(
    ("config", "static", "from_plugin"),
    [
        (PluginConfig("whole"), None, None),
        (PluginConfig("shared", "mps"), 4, 1),
        (PluginConfig("open", "mps", fail_requests_greater_than_one=False), 4, None),
        (PluginConfig("sliced", "time-slicing"), None, None),
        (PluginConfig("strict", "time-slicing", fail_requests_greater_than_one=True), None, 1),
    ],
    ids=lambda value: value.name if isinstance(value, PluginConfig) else str(value),
)
def test_limit_of_configuration(config: PluginConfig, static: int | None, from_plugin: int | None) -> None:
    configs = PluginConfigs(DevicePlugin(version="v0.20.0", configs=(config,)))
    assert ContainerLimits(Limits(per_container=4), configs).of_config(config) == static
    assert ContainerLimits(Limits(per_container=4, from_device_plugin=True), configs).of_config(config) == from_plugin
