"""What looks like a configuration of the device plugin, and which fields of one the plugin ignores."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webhook.policy.sharing.config import (
    ignored,
    is_configuration,
    is_configuration_beside,
    may_be_configuration,
    seems_to_share,
)

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
        {"sharing": {"mps": True}},
        {"sharing": {"mps": {"enabled": True}}},
        {"sharing": {"mps": None, "time": 1}},
        {"mps": "million pages per second"},
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


TEXTS = [
    "sharing:\n  mps: {}\n",
    "Sharing:\n  MPS: {}\n",
    "sharing : {mps: {}}\n",
    "'sharing': {}\n",
    '{"sharing" : {}}\n',
    "a: 1\nmps: {resources: []}\n",
    "TimeSlicing: {resources: []}\n",
    "version: v1\nflags: {plugin: {deviceListStrategy: foo}}\n",
    "Flags: {migStrategy: none}\nVersion: 'v2'\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("is_in_json", [False, True])
def test_fields_are_found_in_any_case_also_in_texts_of_json(text: str, is_in_json: bool) -> None:
    written = json.dumps({"a": text}) if is_in_json else text
    assert may_be_configuration(written.encode())


@pytest.mark.parametrize("text", TEXTS[:4])
def test_fields_of_json_in_a_text_of_json_are_found(text: str) -> None:
    name = text.partition(":")[0].strip(" '")
    assert may_be_configuration(json.dumps({"a": json.dumps({name: {}})}).encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data: {notes: we share GPUs by mps and time slicing}\n",
        "timestamps: []\n",
        "flags: {verbose: true}\n",
        "apiVersion: v1\nflags: {verbose: true}\n",
        "version: 1\nflags: {new-page: true}\n",
        "version: v1\nargs: [--flags]\n",
        "file-sharing-enabled: true\n",
    ],
)
def test_other_bytes_have_no_such_field(text: str) -> None:
    assert not may_be_configuration(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("sharing:\n  mps: [", True), ("TIMESLICING : {", True), ("a: mps: [", False), ("comps: [", False)],
)
def test_line_that_opens_a_block_seems_to_share(text: str, expected: bool) -> None:
    assert seems_to_share(text) is expected
