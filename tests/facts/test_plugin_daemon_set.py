"""What the device plugin's DaemonSet shows: its version, and the configuration of nodes without a label."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Raw

from webhook.cluster.device_plugin import PluginDaemonSet
from webhook.cluster.stack import parse_daemon_set, program
from webhook.policy.sharing.objects import DefaultRule


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("nvidia/k8s-device-plugin:v0.20.0", "v0.20.0"),
        ("example.com:5000/nvidia/k8s-device-plugin:v0.17.4-ubi9", "v0.17.4-ubi9"),
        ("k8s-device-plugin:0.15.0", "0.15.0"),
        ("k8s-device-plugin:v0.16.0-rc.1", "v0.16.0-rc.1"),
        ("example.com/k8s-device-plugin:v0.20.0@sha256:" + "a" * 64, "v0.20.0"),
        ("example.com/k8s-device-plugin@sha256:" + "a" * 64, None),
        ("example.com:5000/k8s-device-plugin", None),
        ("k8s-device-plugin:1.0.0-beta6", None),
        ("gpu-operator:v25.10.0", None),
        ("k8s-device-plugin:v0.20", None),
        ("k8s-device-plugin:v0.20.0-" + "x" * 100, None),
        ("", None),
    ],
)
def test_version_of_image(image: str, version: str | None) -> None:
    assert found([{"name": "nvidia-device-plugin", "image": image}]).version == version


@pytest.mark.parametrize("name", [[], {}, ["configs"], 5, None])
def test_malformed_names_and_arguments_of_a_saved_daemon_set_count_as_absent(name: Any) -> None:
    container = {"name": "nvidia-device-plugin", "volumeMounts": [{"name": name, "mountPath": "/config"}], "args": 5}
    volumes = [{"name": name, "configMap": {"name": name}}]
    assert program({"spec": {"template": {"spec": {"containers": [container], "volumes": volumes}}}}) is not None


def variables(**values: str | None) -> list[dict[str, Any]]:
    """The environment of a container. The API server leaves out an empty value."""
    return [{"name": name, **({"value": value} if value else {})} for name, value in values.items()]


def found(containers: Sequence[object], init: Sequence[object] = ()) -> PluginDaemonSet:
    spec = {"template": {"spec": {"containers": containers, "initContainers": init}}}
    name, parsed = parse_daemon_set(Raw(json.dumps({"metadata": {"name": "plugin"}, "spec": spec}).encode()))
    assert name == "plugin"
    return parsed


IMAGE = "example.com/nvidia/k8s-device-plugin:v0.17.0"


def manager(name: str, **values: str | None) -> dict[str, Any]:
    return {"name": name, "image": IMAGE, "command": ["config-manager"], "env": variables(**values)}


def test_standalone_chart() -> None:
    plugin = {"name": "nvidia-device-plugin-ctr", "image": IMAGE, "command": ["nvidia-device-plugin"]}
    values: dict[str, str | None] = {"DEFAULT_CONFIG": "", "FALLBACK_STRATEGIES": "named,single"}
    sidecar = manager("nvidia-device-plugin-sidecar", **values)
    parsed = found([sidecar, plugin], [manager("nvidia-device-plugin-init", **values)])
    assert parsed == PluginDaemonSet("v0.17.0", DefaultRule("", ("named", "single")))


def test_gpu_operator() -> None:
    validation = {"name": "toolkit-validation", "image": "example.com/gpu-operator:v25.10.0", "command": ["sh", "-c"]}
    init = manager("config-manager-init", DEFAULT_CONFIG="a", FALLBACK_STRATEGIES="empty")
    plugin = {"name": "nvidia-device-plugin", "image": IMAGE, "env": variables(MIG_STRATEGY="single")}
    parsed = found([plugin, manager("config-manager")], [validation, init])
    assert parsed == PluginDaemonSet("v0.17.0", DefaultRule("a", ("empty",)), "single")


def test_runtime_class_of_plugin() -> None:
    spec = {"template": {"spec": {"runtimeClassName": "nvidia"}}}
    _, parsed = parse_daemon_set(Raw(json.dumps({"metadata": {"name": "plugin"}, "spec": spec}).encode()))
    assert parsed.runtime_class == "nvidia"
    assert found([]).runtime_class == ""


def test_plugin_is_found_by_image() -> None:
    other = {"name": "other", "image": "example.com/other:v0.1.0"}
    assert found([other, {"name": "main", "image": IMAGE}]).version == "v0.17.0"


@pytest.mark.parametrize(
    ("container", "unconfigured"),
    [
        ({"name": "nvidia-device-plugin-ctr", "image": IMAGE, "env": variables(FAIL_ON_INIT_ERROR="false")}, True),
        ({"name": "nvidia-device-plugin", "command": ["bash", "-c"], "args": ["/bin/entrypoint.sh"]}, True),
        ({"name": "nvidia-device-plugin-ctr", "env": variables(CONFIG_FILE="/config/config.yaml")}, False),
        ({"name": "nvidia-device-plugin-ctr", "args": ["--config-file=/config.yaml"]}, False),
        ({"name": "nvidia-device-plugin-ctr", "command": ["sh", "-c", "exec plugin --config-file /c"]}, False),
        ({"name": "nvidia-device-plugin-ctr", "envFrom": [{"configMapRef": {"name": "x"}}]}, False),
        ({"name": "other", "image": "example.com/other:v0.1.0"}, False),
    ],
)
def test_plugin_without_configuration(container: dict[str, Any], *, unconfigured: bool) -> None:
    """As the static manifest of NVIDIA/k8s-device-plugin deploys it (deployments/static)."""
    assert found([container]).unconfigured is unconfigured
    assert not found([container, manager("nvidia-device-plugin-sidecar")]).unconfigured


@pytest.mark.parametrize(
    ("volume", "read"),
    [
        ({"configMap": {"name": "configs"}}, ("configs", "a.yaml")),
        ({"configMap": {"name": "configs", "items": [{"key": "k", "path": "a.yaml"}]}}, ("configs", "k")),
        ({"configMap": {"name": "configs", "items": [{"key": "k", "path": "b.yaml"}]}}, ("", None)),
        ({"projected": {"sources": [{"secret": {}}, {"configMap": {"name": "configs"}}]}}, ("configs", "a.yaml")),
        ({"emptyDir": {}}, ("", None)),
    ],
)
def test_file_of_plugin_leads_to_its_config_map(volume: dict[str, Any], read: tuple[str, str | None]) -> None:
    mounts = [{"name": "none", "mountPath": "/"}, {"name": "config", "mountPath": "/config/"}]
    plugin = {"name": "nvidia-device-plugin", "args": ["--config-file=/config/a.yaml"], "volumeMounts": mounts}
    spec = {"containers": [plugin], "volumes": [{"name": "other"}, {"name": "config", **volume}]}
    one = program({"spec": {"template": {"spec": spec}}})
    assert one is not None
    assert (one.config_map, one.key) == read


@pytest.mark.parametrize("name", ["DEFAULT_CONFIG", "FALLBACK_STRATEGIES"])
def test_default_from_elsewhere_is_unknown(name: str) -> None:
    reference = {"name": name, "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}
    init = {"name": "init", "command": ["config-manager"], "env": [reference]}
    assert found([{"name": "nvidia-device-plugin", "image": IMAGE}], [init]).default is None


def test_daemon_set_without_containers() -> None:
    assert found([]) == PluginDaemonSet(None, None)
