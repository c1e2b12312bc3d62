"""Profiles: values that the keys of the file override."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import pytest

from webhook.policy.settings.settings import Injections
from webhook.settings.configuration import Configuration
from webhook.settings.members import members, words
from webhook.settings.profiles import DESCRIPTIONS, PROFILES

Load = Callable[[str], Configuration]


def test_profile_key_allows_every_profile(load_text: Load) -> None:
    assert words(members(Configuration)["profile"].hint) == tuple(PROFILES)
    assert list(DESCRIPTIONS) == list(PROFILES)
    for name in PROFILES:
        assert load_text(f"profile: {name}").profile == name


def test_device_plugin_profile_is_the_default(load_text: Load) -> None:
    assert load_text("profile: device-plugin") == Configuration()


def test_none_profile_disables_every_injection(load_text: Load) -> None:
    settings = load_text("profile: none").settings
    switches = [getattr(settings.injections, field.name) for field in fields(Injections)]
    assert [one.enabled for one in switches if hasattr(one, "enabled")] == [False] * 7
    assert (settings.severities, settings.mode) == ({}, "enforce")


@pytest.mark.parametrize(
    ("text", "severities"),
    [
        ("profile: gke\nseverities: {GPS005: deny}", {"GPS005": "deny"}),
        ("profile: gke\nseverities: {GPS001: deny}", {"GPS001": "deny", "GPS005": "off"}),
        ("profile: gke\nseverities: {}", {"GPS005": "off"}),
    ],
)
def test_severities_merge_with_profile(load_text: Load, text: str, severities: dict[str, str]) -> None:
    assert load_text(text).settings.severities == severities


def test_file_overrides_profile_at_every_depth(load_text: Load) -> None:
    settings = load_text("profile: host-daemon\ninjections: {pipeMount: {type: '', readOnly: true}}").settings
    mount = settings.injections.pipe_mount
    assert (mount.type, mount.read_only) == ("", True)
    assert mount.mps_root == "/tmp/nvidia-mps"  # noqa: S108 - CUDA's default


@pytest.mark.parametrize("profile", ["device-plugin", "host-daemon", "gke"])
def test_file_replaces_mps_labels_of_profile(load_text: Load, profile: str) -> None:
    settings = load_text(f'profile: {profile}\nplacement: {{mpsLabels: {{example.com/mps: "on"}}}}').settings
    assert settings.placement.mps_labels == {"example.com/mps": "on"}
