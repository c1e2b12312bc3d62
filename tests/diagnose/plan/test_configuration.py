"""A new configuration of the device plugin, as a file or in a ConfigMap."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from webhook.diagnose.plan.worlds import new_plugin
from webhook.diagnostics import InputError
from webhook.manifests import Source
from webhook.policy.placement.cluster_objects import DevicePlugin, PluginConfig, Replicas
from webhook.policy.settings.settings import Settings

CARD = "nvidia.com/gpu"
MPS_8 = "version: v1\nsharing:\n  mps:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 8}\n"
KNOWN = DevicePlugin(
    version="v0.17.0",
    configs=(PluginConfig("base", "mps", None, (Replicas(CARD, 4),)), PluginConfig("whole")),
    default_config="base",
    runtime_class="nvidia",
)
EIGHT = ("mps", (Replicas(CARD, 8),))


def checked(text: str, known: DevicePlugin | None = KNOWN) -> tuple[DevicePlugin, Sequence[str]]:
    return new_plugin(Source("new.yaml", text.encode()), known, Settings())


def read(text: str, known: DevicePlugin | None = KNOWN) -> DevicePlugin:
    return checked(text, known)[0]


def held(found: DevicePlugin) -> dict[str, tuple[str, tuple[Replicas, ...]]]:
    return {one.name: (one.strategy, one.resources) for one in found.configs or ()}


def config_map(**texts: str) -> str:
    keys = "".join(
        f"  {key}: |\n" + "".join(f"    {line}\n" for line in text.splitlines()) for key, text in texts.items()
    )
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: plugin}}\ndata:\n{keys}"


def test_file_replaces_default_configuration() -> None:
    found = read(MPS_8)
    assert held(found) == {"base": EIGHT, "whole": ("none", ())}
    assert (found.default_config, found.version) == ("base", "v0.17.0")
    assert found.runtime_class == "nvidia"


def test_file_is_default_where_nothing_is_known() -> None:
    found = read(MPS_8, None)
    assert (held(found), found.default_config) == ({"config": EIGHT}, "config")


def test_file_that_shares_nothing_is_a_configuration() -> None:
    assert held(read("version: v1\n")) == {"base": ("none", ()), "whole": ("none", ())}


def test_keys_of_config_map_are_all_configurations() -> None:
    found = read(config_map(base=MPS_8, large=MPS_8.replace("8", "16")))
    assert held(found) == {"base": EIGHT, "large": ("mps", (Replicas(CARD, 16),))}
    assert found.default_config == "base"


@pytest.mark.parametrize(("keys", "default"), [(["default", "x"], "default"), (["only"], "only"), (["x", "y"], None)])
def test_default_follows_rule_of_chart_where_its_name_is_gone(keys: list[str], default: str | None) -> None:
    assert read(config_map(**dict.fromkeys(keys, MPS_8))).default_config == default


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MPS_8.replace("8}", "1}"), "new.yaml:5:40: GPS030 "),
        (config_map(base=MPS_8.replace("8}", "1}")), "new.yaml:10:44: GPS030 "),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
            "new.yaml:1:1: no configuration of the device plugin; name a",
        ),
        ("kind: Pod\napiVersion: v1\n", "new.yaml:1:1: no configuration of the device plugin; name a"),
        ("a: [", "new.yaml:2:1: expected a value here"),
        ("", "no configuration of the device plugin"),
        (config_map(base=MPS_8) + "---\na: [", "new.yaml:13:1: expected a value here"),
    ],
    ids=[
        "refused",
        "refused key",
        "empty ConfigMap",
        "another object",
        "no YAML",
        "empty",
        "no YAML behind it",
    ],
)
def test_file_that_is_no_configuration_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert said in str(error.value)


def test_ignored_field_is_a_warning() -> None:
    _, (warning,) = checked(MPS_8 + "    renameByDefalt: true\n")
    assert warning.startswith("new.yaml:6:21: GPS031 ")


def test_configuration_that_no_check_denies_is_refused_too() -> None:
    source = Source("new.yaml", MPS_8.replace("8}", "1}").encode())
    with pytest.raises(InputError, match=r"^new.yaml: sharing.mps.resources\[0\]"):
        new_plugin(source, KNOWN, Settings(severities={"GPS030": "off"}))
