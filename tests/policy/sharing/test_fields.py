"""What looks like a configuration of the device plugin, and which fields of one the plugin ignores."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.sharing.fields import ignored, is_configuration, is_configuration_beside

RESOURCES = [{"name": "nvidia.com/gpu", "replicas": 2}]


@pytest.mark.parametrize(
    "value",
    [
        {"sharing": {"mps": {"resources": RESOURCES}}},
        {"sharing": {"timeSlicing": None}},
        {"version": "v2", "Sharing": {"MPS": {}}},
        {"timeSlicing": {"resources": RESOURCES}},
        {"mps": {"resources": RESOURCES}},
        {"version": "v1", "flags": {"migStrategy": "none"}},
        {"Version": "v1", "Flags": {"migstrategy": "none"}},
        {"version": "v1beta1", "flags": {"migStrategy": "mixd"}},
        {"version": "v1", "flags": {"deviceIDStrategy": "foo"}},
        {"version": "v1", "sharing": []},
        {"version": "v2", "sharing": "time-slicing"},
        {"sharing": {"timeSlice": {"resources": RESOURCES}}},
        {"apiVersion": "v1", "sharing": {"mps": {"resources": RESOURCES}}},
    ],
)
def test_configuration_is_found_by_its_content(value: object) -> None:
    assert is_configuration(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [{"sharing": {"mps": {}}}],
        {},
        {"sharing": {"namespaces": {}}},
        {"sharing": "mps"},
        {"mps": {"root": "/run", "resources": {"limits": {"cpu": 1}}}},
        {"mps": {"resources": [{"name": "a"}, 1]}},
        {"version": "v1"},
        {"flags": {"migStrategy": "none"}},
        {"version": "v1", "flags": {"verbose": True}},
        {"version": "v1", "flags": ["migStrategy"]},
        {"version": 1, "flags": {"migStrategy": "none"}},
        {"version": 3, "sharing": {"enabled": True}},
        {"version": "latest", "sharing": []},
        {"sharing": {"links": {"resources": [{"name": "a"}]}}},
        {"kind": "Pod", "sharing": {"mps": {}}},
        {"apiVersion": "v1", "sharing": {"mps": {}}},
        {"apiVersion": "v1", "flags": {"migStrategy": "none"}},
    ],
)
def test_other_document_is_none(value: object) -> None:
    assert not is_configuration(value)


@pytest.mark.parametrize(
    ("value", "is_one"),
    [({"version": "v2"}, True), ({}, True), ("notes", False), ([], False), (None, False), ({"kind": "Pod"}, False)],
)
def test_mapping_beside_a_configuration_is_one(value: object, is_one: bool) -> None:
    assert is_configuration_beside(value) is is_one


def remedies(value: Any) -> dict[str, str]:
    """The remedies by the paths of ignored fields."""
    return {".".join(map(str, one.path)): one.remedy for one in ignored(value)}


def test_known_fields_are_not_ignored() -> None:
    flags = {"MIGStrategy": "none", "plugin": {"deviceListStrategy": "envvar"}, "gfd": {"Oneshot": True}}
    patterns = {"GPUs": [{"pattern": "*", "name": "gpu"}], "mig": None}
    block = {"renameByDefault": True, "failRequestsGreaterThanOne": True, "resources": RESOURCES}
    imex = {"channelIDs": [1], "required": False}
    value = {"version": "v1", "FLAGS": flags, "resources": patterns, "Sharing": {"MPS": block}, "imex": imex}
    assert remedies(value) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"mps": {}}, {"mps": "move it below sharing"}),
        (
            {"sharing": {"renameByDefault": True}},
            {"sharing.renameByDefault": "move it below sharing.mps or sharing.timeSlicing"},
        ),
        ({"sharing": {"mps": {"Resources": []}}}, {"sharing.mps.Resources": "write resources"}),
        (
            {"sharing": {"mps": {"resources": [RESOURCES[0], {"replica": 2, "devicess": "all", "count": 2}, 3]}}},
            {
                "sharing.mps.resources.1.replica": "write replicas",
                "sharing.mps.resources.1.devicess": "write devices",
                "sharing.mps.resources.1.count": "remove it",
            },
        ),
        ({"flags": {"passDeviceSpecs": True}}, {"flags.passDeviceSpecs": "move it below flags.plugin"}),
        ({"sleepInterval": "1m"}, {"sleepInterval": "move it below flags.gfd"}),
        ({"migStrategy" + "x" * 40: 1}, {"migStrategy" + "x" * 40: "remove it"}),
        ({"flags": 1, "sharing": []}, {}),
        (None, {}),
    ],
)
def test_ignored_field_gets_its_place(value: object, expected: dict[str, str]) -> None:
    assert remedies(value) == expected
