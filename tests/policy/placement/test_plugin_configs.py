"""Which of the device plugin's configurations a node uses."""

from __future__ import annotations

import pytest

from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig
from webhook.policy.placement.node_classes import CONFIG_LABEL, PluginConfigs

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
