"""Profiles: values that the keys of the file override."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from webhook.policy.rules import Pipe
from webhook.policy.settings.formats import Choice
from webhook.policy.settings.settings import Injections, Limits, Resource, TimeSlicingLimits
from webhook.settings.configuration import Configuration, default
from webhook.settings.profiles import DESCRIPTIONS, PROFILES
from webhook.settings.schema_tree import Scalar, object_of

Load = Callable[[str], Configuration]


def test_profile_key_allows_every_profile(load_text: Load) -> None:
    profile = object_of(Configuration).field("profile")
    assert profile is not None
    assert profile.node == Scalar(Choice(tuple(PROFILES)))
    assert list(DESCRIPTIONS) == list(PROFILES)
    for name in PROFILES:
        assert load_text(f"profile: {name}").profile == name


def test_device_plugin_profile_is_the_default(load_text: Load) -> None:
    assert load_text("profile: device-plugin") == default()


def test_host_daemon_profile(load_text: Load) -> None:
    settings = load_text("profile: host-daemon").settings
    pipe = Pipe("nvidia.com/gpu", settings.injections.pipe_directory, settings.injections.pipe_mount)
    assert pipe.path == "/tmp/nvidia-mps"  # noqa: S108 - CUDA's default
    assert pipe.host == "/tmp/nvidia-mps"  # noqa: S108 - CUDA's default
    assert settings.injections.pipe_directory.enabled
    assert settings.injections.pipe_mount.enabled
    assert settings.injections.pipe_mount.type == "Directory"
    assert settings.placement.mps_labels == {}


def test_gke_profile(load_text: Load) -> None:
    settings = load_text("profile: gke").settings
    assert not settings.injections.runtime_class.enabled
    assert not settings.injections.pipe_directory.enabled
    assert not settings.injections.pipe_mount.enabled
    assert settings.injections.tolerations.enabled
    pipe = Pipe("nvidia.com/gpu", settings.injections.pipe_directory, settings.injections.pipe_mount)
    assert pipe.path == "/tmp/nvidia-mps"  # noqa: S108 - CUDA's default
    assert settings.severities == {"GPS005": "off"}
    assert settings.limits == Limits(time_slicing=TimeSlicingLimits(1), mps_may_accept_more=True)
    assert settings.users.host_ipc == "required"
    assert settings.placement.mps_labels == {"cloud.google.com/gke-gpu-sharing-strategy": "mps"}
    assert settings.placement.time_slicing_labels == {"cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"}


def test_openshift_profile_disables_runtime_class_and_pipe_mount(load_text: Load) -> None:
    openshift = load_text("profile: openshift")
    disabled = "injections: {runtimeClass: {enabled: false}, pipeMount: {enabled: false}}"
    assert load_text(disabled).settings == openshift.settings


def test_kai_profile_counts_whole_cards_and_shares_by_annotation(load_text: Load) -> None:
    kai, daemon = load_text("profile: kai").settings, load_text("profile: host-daemon").settings
    assert not kai.injections.runtime_class.enabled
    assert kai.injections.pipe_directory == daemon.injections.pipe_directory
    assert kai.injections.pipe_mount == replace(daemon.injections.pipe_mount, type="DirectoryOrCreate")
    assert kai.resources == (Resource("nvidia.com/gpu", "whole"),)
    assert kai.severities == daemon.severities == {"GPS005": "off"}
    assert kai.placement.mps_labels == {"nvidia.mps/enabled": "true"}
    assert [one.annotation for one in kai.requests.annotations] == ["gpu-fraction", "gpu-memory"]


def test_dra_profile_limits_nothing(load_text: Load) -> None:
    settings = load_text("profile: dra").settings
    assert settings.resources == (Resource("nvidia.com/gpu", "whole"),)
    assert not settings.injections.pipe_directory.enabled
    assert not settings.injections.pipe_mount.enabled
    assert not settings.injections.runtime_class.enabled


def test_whole_cards_profile_shares_nothing(load_text: Load) -> None:
    settings, default_settings = load_text("profile: whole-cards").settings, default().settings
    assert settings.resources == (Resource("nvidia.com/gpu", "whole"),)
    assert not settings.injections.pipe_directory.enabled
    assert not settings.injections.pipe_mount.enabled
    assert settings.injections.runtime_class == default_settings.injections.runtime_class
    assert settings.injections.tolerations == default_settings.injections.tolerations


def test_none_profile_disables_every_injection(load_text: Load) -> None:
    settings = load_text("profile: none").settings
    switches = [getattr(settings.injections, field.name) for field in fields(Injections)]
    assert [one.enabled for one in switches if hasattr(one, "enabled")] == [False] * 8
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
