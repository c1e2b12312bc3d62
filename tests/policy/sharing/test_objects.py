"""Configurations and their names as objects, sections of charts, and the configuration of nodes without a label."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.sharing.objects import (
    API_VERSION,
    NO_CONFIG,
    VALUES,
    DefaultRule,
    as_object,
    of_object,
    sections,
    values_with,
)

NAMED = {"name": "x", "default": "b"}
FALLBACKS = {"name": "x", "fallbackStrategies": ["single"]}


@pytest.mark.parametrize(
    ("values", "chart", "has_configurations", "is_of"),
    [
        ({"config": {}}, "nvidia-device-plugin", False, True),
        ({"config": {}}, "gpu-operator", True, False),
        ({"devicePlugin": {"config": {}}}, "gpu-operator", False, True),
        ({"devicePlugin": {"config": {}}}, "nvidia-device-plugin", True, False),
        ({"config": FALLBACKS}, "my-web", True, False),
        ({"devicePlugin": {"config": NAMED}}, "intel-gpu", True, False),
        ({"nvidia-device-plugin": {"config": {}}}, "my-web", False, True),
        ({"gpu-operator": {"config": {}}}, "", True, False),
        ({"config": NAMED}, "", False, False),
        ({"config": NAMED}, "", True, True),
        ({"config": FALLBACKS}, "", False, True),
        ({"config": {**FALLBACKS, "level": "debug"}}, "", False, False),
        ({"devicePlugin": {"config": NAMED}}, "", False, True),
        ({"devicePlugin": {"config": {**NAMED, "fallbackStrategies": []}}}, "", False, True),
        ({"devicePlugin": {"config": {**NAMED, "sharedDevNum": 4}}}, "", False, False),
        ({"devicePlugin": {"config": {"default": "b"}}}, "", False, False),
    ],
)
def test_chart_or_content_tells_whose_section_it_is(
    values: dict[str, Any], chart: str, has_configurations: bool, is_of: bool
) -> None:
    (section,) = sections(values, *VALUES)
    assert section.is_of(chart, has_configurations) is is_of


def test_texts_of_a_section_stand_under_both_keys() -> None:
    (section,) = sections({"config": {"map": {"a": "", "b": ""}, "data": {"c": ""}, "name": "x"}}, *VALUES)
    assert list(section.texts()) == [("config", "map", "a"), ("config", "map", "b"), ("config", "data", "c")]
    assert list(section.names or ()) == ["a", "b"]


def test_values_with_sections_have_nothing_else() -> None:
    kept = {"config": NAMED, "gpu-operator": {"config": NAMED, "devicePlugin": {"config": NAMED}}}
    given = {**kept, "image": {"tag": "1"}}
    assert values_with(sections(given, *VALUES), given) == kept


def test_values_say_whether_features_are_discovered() -> None:
    kept = {"nvidia-device-plugin": {"config": NAMED, "gfd": {"enabled": True}}}
    given = {"gfd": {"enabled": False}, "nvidia-device-plugin": {**kept["nvidia-device-plugin"], "nfd": {}}}
    assert values_with(sections(given, *VALUES), given) == kept


def test_object_holds_the_configuration_and_the_name_of_its_holder() -> None:
    value = {"version": "v1", "sharing": {"mps": None}}
    held = as_object(value, "team", "configs/mps")
    assert (held["apiVersion"], held["metadata"]) == (API_VERSION, {"namespace": "team", "name": "configs/mps"})
    assert of_object(held) == value


@pytest.mark.parametrize(
    ("rule", "names", "chosen"),
    [
        (DefaultRule("a"), ["a", "default"], "a"),
        (DefaultRule("gone"), ["a", "default"], None),
        (DefaultRule(), ["a", "default"], "default"),
        (DefaultRule(), ["a"], "a"),
        (DefaultRule(), ["a", "b"], None),
        (DefaultRule("", ("single", "named")), ["default", "b"], "default"),
        (DefaultRule("", ("single",)), ["default", "b"], None),
        (DefaultRule("", ("empty",)), ["default"], NO_CONFIG),
        (DefaultRule("", ("named", "single", "empty")), ["a", "b"], NO_CONFIG),
        (DefaultRule("", ("unheard", "named")), ["default"], None),
        (DefaultRule("", ()), ["default"], None),
        (DefaultRule("", ("empty",)), [], None),
    ],
)
def test_default_configuration(rule: DefaultRule, names: list[str], chosen: str | None) -> None:
    """The order of `updateConfigName` in NVIDIA/k8s-device-plugin cmd/config-manager/main.go."""
    assert rule.choose(names) == chosen
