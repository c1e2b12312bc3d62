"""Words by which bytes are known that may hold a configuration of the device plugin."""

from __future__ import annotations

import json

import pytest

from webhook.policy.sharing.words import may_be_configuration, seems_to_share

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
