"""The configuration of a node without a label."""

from __future__ import annotations

import pytest

from webhook.policy.sharing.defaults import NO_CONFIG, DefaultRule


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
