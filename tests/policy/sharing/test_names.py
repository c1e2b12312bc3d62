"""Sections of values that belong to a chart which deploys the device plugin."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.sharing.names import VALUES, sections, values_with

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
    assert values_with(sections({**kept, "image": {"tag": "1"}}, *VALUES)) == kept
