"""The device plugin's configuration, read as the plugin reads it.

Each case is a rule of NVIDIA/k8s-device-plugin v0.20.0; api/config/v1/*_test.go there has many of them.
tests/deviceplugin compares the rules with its code.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.cluster.device_plugin import LARGEST, read_text
from webhook.policy.placement.cluster_objects import PluginConfig, Replicas
from webhook.policy.sharing.config import MOST_RESOURCES

GPU = "{name: nvidia.com/gpu, replicas: 4}"
FOUR = (Replicas("nvidia.com/gpu", 4),)


def read(text: str, mig_strategy: str | None = None) -> PluginConfig:
    found = read_text("key", text.encode(), mig_strategy)
    assert found.config is not None
    return found.config


def mps(block: str, above: str = "") -> str:
    """A configuration with this MPS block, after other members."""
    return f"version: v1\n{above}\nsharing: {{mps: {{{block}}}}}"


def problem(text: str, mig_strategy: str | None = None) -> str:
    found = read_text("key", text.encode(), mig_strategy)
    assert found.config is None
    return found.problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"sharing: {{mps: {{resources: [{GPU}]}}}}", PluginConfig("key", "mps", None, FOUR)),
        (f"sharing: {{timeSlicing: {{resources: [{GPU}]}}}}", PluginConfig("key", "time-slicing", None, FOUR)),
        (
            f"sharing: {{mps: {{resources: [{GPU}]}}, "
            "timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}",
            PluginConfig("key", "mps", None, FOUR),
        ),
        (
            f"sharing: {{mps: null, timeSlicing: {{resources: [{GPU}]}}}}",
            PluginConfig("key", "time-slicing", None, FOUR),
        ),
        ("sharing: {}", PluginConfig("key")),
        ("flags: {migStrategy: mixed}", PluginConfig("key")),
        ("flags: {migStrategy: null}", PluginConfig("key")),
        ("imex: {channelIDs: [a]}", PluginConfig("key")),
        ("sharing: {}\nSharing: {mps: {resources: [" + GPU + "]}}", PluginConfig("key", "mps", None, FOUR)),
        ("version:", PluginConfig("key")),
        ("", PluginConfig("key")),
        ("# nothing\n---\n", PluginConfig("key")),
        ('{"version": "v1"}', PluginConfig("key")),
        ("version: v1\n---\nversion: v2", PluginConfig("key")),
        ("Version: v1\nSHARING: {MPS: {resources: [" + GPU + "]}}", PluginConfig("key", "mps", None, FOUR)),
        ("unknown: [1, 2]\nflags: {unknown: {a: b}}", PluginConfig("key")),
    ],
)
def test_strategy(text: str, expected: PluginConfig) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("written", "expected"), [("", None), ("null, ", None), ("true, ", True), ("false, ", False), ("off, ", False)]
)
@pytest.mark.parametrize("strategy", ["mps", "timeSlicing"])
def test_fail_requests_greater_than_one_is_kept_as_written(strategy: str, written: str, expected: bool | None) -> None:
    option = written and f"failRequestsGreaterThanOne: {written}"
    found = read(f"sharing: {{{strategy}: {{{option}resources: [{GPU}]}}}}")
    assert found.fail_requests_greater_than_one is expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("resources: [{name: gpu, replicas: 2}]", {"nvidia.com/gpu": 2}),
        (f"renameByDefault: true, resources: [{GPU}]", {"nvidia.com/gpu.shared": 4}),
        ("renameByDefault: true, resources: [{name: gpu, rename: other, replicas: 2}]", {"nvidia.com/gpu.shared": 2}),
        ("resources: [{name: gpu, rename: gpu.other, replicas: 2}]", {"nvidia.com/gpu": 2}),
        ("resources: [{name: gpu, devices: 1, replicas: 2}]", {"nvidia.com/gpu": 2}),
        ("resources: [{name: gpu, replicas: 2.0}]", {"nvidia.com/gpu": 2}),
        ("resources: [{name: gpu, replicas: 2}, {name: gpu, replicas: 5}]", {"nvidia.com/gpu": 5}),
        ("resources: [{name: gpu, replicas: 5}, {name: gpu, replicas: 2}]", {"nvidia.com/gpu": 5}),
        ("resources: [{name: gpu, replicas: 2}, {name: mig-1g.5gb, replicas: 3}]", {
            "nvidia.com/gpu": 2, "nvidia.com/mig-1g.5gb": 3,
        }),
        ("resources: [{name: " + "x" * 52 + ", replicas: 2}]", {"nvidia.com/" + "x" * 52: 2}),
    ],
)  # fmt: skip
def test_resources_are_named_as_nodes_advertise_them(block: str, expected: dict[str, int]) -> None:
    assert {one.name: one.replicas for one in read(mps(block)).resources} == expected


RESOURCE = "sharing.mps.resources[0]"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("resources: [{name: gpu, replicas: 1}]", f"{RESOURCE}.replicas: must be at least 2, not 1"),
        ("resources: [{name: gpu, replicas: -1}]", f"{RESOURCE}.replicas: must be at least 2, not -1"),
        ("resources: [{name: gpu}]", f"{RESOURCE}: replicas is missing"),
        ("resources: [{name: gpu, replicas: null}]", f"{RESOURCE}.replicas: must be at least 2, not 0"),
        ('resources: [{name: gpu, replicas: "4"}]', f"{RESOURCE}.replicas: must be a whole number, not text"),
        ("resources: [{name: gpu, replicas: 2.5}]", f"{RESOURCE}.replicas: must be a whole number of 64 bits"),
        ("resources: [{name: gpu, replicas: true}]", f"{RESOURCE}.replicas: must be a whole number, not a boolean"),
        (
            "resources: [{name: gpu, replicas: 9223372036854775808}]",
            f"{RESOURCE}.replicas: must be a whole number of 64 bits",
        ),
        ("resources: [{replicas: 2}]", f"{RESOURCE}: name is missing"),
        ("resources: [{name: null, replicas: 2}]", f"{RESOURCE}.name: must be a resource's name, not null"),
        ("resources: [{name: example.com/gpu, replicas: 2}]", f"{RESOURCE}.name: not a resource's name: "
         '"nvidia.com/example.com/gpu"'),
        ("resources: [{name: GPU, replicas: 2}]", f'{RESOURCE}.name: not a resource\'s name: "nvidia.com/GPU"'),
        ("resources: [{name: " + "x" * 53 + ", replicas: 2}]", f"{RESOURCE}.name: longer than 63 characters, "
         "nvidia.com/ included"),
        ("resources: [{name: gpu, rename: GPU, replicas: 2}]", f'{RESOURCE}.rename: not a resource\'s name: '
         '"nvidia.com/GPU"'),
        ("resources: [{NAME: gpu, replicas: 2}]", f"{RESOURCE}: name is missing"),
        ("resources: []", "sharing.mps: must name at least one resource"),
        ("renameByDefault: true", "sharing.mps: must name at least one resource"),
        (f"Resources: [{GPU}]", "sharing.mps: must name at least one resource"),
        (f'renameByDefault: "yes", resources: [{GPU}]',
         "sharing.mps.renameByDefault: must be true or false, not text"),
        (f"failRequestsGreaterThanOne: 1, resources: [{GPU}]",
         "sharing.mps.failRequestsGreaterThanOne: must be true or false, not a number"),
        ("resources: {name: gpu}", "sharing.mps.resources: must be a list, not a mapping"),
        ("resources: [gpu]", f"{RESOURCE}: must be a mapping, not text"),
    ],
)  # fmt: skip
def test_rejected_sharing_block_is_named_by_field(block: str, expected: str) -> None:
    assert problem(mps(block)) == expected


def test_configuration_that_shares_many_resources_is_rejected_beyond_the_bound() -> None:
    each = [f"{{name: gpu-{number}, replicas: 2}}" for number in range(MOST_RESOURCES + 1)]
    assert len(read(mps(f"resources: [{', '.join(each[1:])}]")).resources) == MOST_RESOURCES
    expected = f"sharing.mps.resources: more than {MOST_RESOURCES} resources"
    assert problem(mps(f"resources: [{', '.join(each)}]")) == expected


@pytest.mark.parametrize(
    "devices",
    [
        "all",
        "1",
        "[0, 1]",
        '["0:1"]',
        "2.0",
        "[null]",
        "[GPU-b1028956-cfa2-0990-bf4a-5da9abb51763]",
        "[MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763/3/0]",
    ],
)
def test_devices_are_ignored(devices: str) -> None:
    assert read(mps(f"resources: [{{name: gpu, devices: {devices}, replicas: 4}}]")).resources == FOUR


@pytest.mark.parametrize("devices", ["null", "some", "0", "-1", "1.5", "1e40", "true", "{}"])
def test_unusable_devices_are_rejected(devices: str) -> None:
    assert problem(mps(f"resources: [{{name: gpu, devices: {devices}, replicas: 4}}]")).startswith(
        f"{RESOURCE}.devices: "
    )


@pytest.mark.parametrize(
    ("in_file", "in_environment", "rejected"),
    [("mixed", None, True), ("single", None, False), ("none", "mixed", True), ("mixed", "single", False)],
)
def test_mixed_mig_strategy_is_rejected_with_mps(in_file: str, in_environment: str | None, rejected: bool) -> None:
    text = mps(f"resources: [{GPU}]", f"flags: {{migStrategy: {in_file}}}")
    if rejected:
        assert problem(text, in_environment) == "flags.migStrategy: mixed is not supported with sharing.mps"
    else:
        assert read(text, in_environment).strategy == "mps"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: v2", 'version: must be v1, not "v2"'),
        ("version: 1", 'version: must be v1, not "1"'),
        ("version: {}", "version: must be text, not a mapping"),
        ("[]", "the configuration: must be a mapping, not a list"),
        ("words", "the configuration: must be a mapping, not text"),
        ("flags: []", "flags: must be a mapping, not a list"),
        ("flags: {migStrategy: [a]}", "flags.migStrategy: must be text, not a list"),
        ("flags: {migStrategy: true}", "flags.migStrategy: must be text, not a boolean"),
        ("flags: {plugin: {deviceListStrategy: 1}}",
         "flags.plugin.deviceListStrategy: must be text or a list of text, not a number"),
        ("flags: {plugin: {deviceListStrategy: [1]}}",
         "flags.plugin.deviceListStrategy[0]: must be text, not a number"),
        ("flags: {plugin: {deviceListStrategy: cdi}}", "flags.plugin.deviceListStrategy: must be envvar, "
         'volume-mounts, cdi-annotations or cdi-cri, not "cdi"'),
        ("version: v1\n  flags: {",
         'line 2: unexpected ":"; put text that holds ": " in quotes, or check the indentation'),
        ("#" + " " * LARGEST, f"larger than {LARGEST} bytes"),
        # Go calls its decoder with this null, unlike that of the pointer `mps`.
        ("sharing: {timeSlicing: }", "sharing.timeSlicing: must name at least one resource"),
        (f"sharing: {{mps: {{resources: [{GPU}]}}, timeSlicing: {{resources: [{{name: gpu, replicas: 1}}]}}}}",
         "sharing.timeSlicing.resources[0].replicas: must be at least 2, not 1"),
    ],
)  # fmt: skip
def test_rejected_file_is_named_by_field(text: str, expected: str) -> None:
    assert problem(text) == expected


def test_flags_and_resources_of_full_file_are_accepted() -> None:
    text = f"""
version: v1
flags:
  migStrategy: none
  failOnInitError: true
  nvidiaDriverRoot: /
  plugin: {{passDeviceSpecs: false, deviceListStrategy: [envvar], deviceIDStrategy: uuid}}
  gfd: {{oneshot: false, noTimestamp: false, outputFile: /etc/x, sleepInterval: 60s}}
resources: {{gpus: [{{pattern: "*", name: other}}], mig: []}}
sharing: {{mps: {{resources: [{GPU}]}}}}
imex: {{channelIDs: [0], required: false}}
"""
    assert read(text) == PluginConfig("key", "mps", None, FOUR)


@given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
@example(b"[" * 60_000)
@example(b"a: &a [*a, *a]")
@example(b"{" * 300)
@example(b"\xff\xfea")
@example(b"x: " + b"9" * 5000)
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    found = read_text("key", data)
    if found.config is not None:
        assert found.config.name == "key"
        assert all(one.replicas >= 2 for one in found.config.resources)
    assert (found.problem == "") is (found.config is not None)
    assert found.problem.isprintable()
    assert len(found.problem) < 500
