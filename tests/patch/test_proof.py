"""The proof: what it refuses, case by case, and that it never lets pass what does not apply or overwrites."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonpatch
import jsonpointer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grown import is_grown
from webhook.patch import pointer, verify

Json = dict[str, Any]

DOCUMENT: Json = {
    "spec": {"containers": [{"name": "c", "env": None}, {"name": "d", "env": []}], "a/b": {}, "m~n": {}},
    "text": "one",
    "empty": "",
    "number": 1,
    "null": None,
    "": {"": 1},
}


def add(path: str, value: object = 1) -> Json:
    return {"op": "add", "path": path, "value": value}


SOUND = {
    "a new member": [add("/spec/new", {"a": 1})],
    "a null member": [add("/null")],
    "a null list": [add("/spec/containers/0/env", [1])],
    "an append": [add("/spec/containers/1/env/-"), add("/spec/containers/1/env/-")],
    "an append to the containers": [add("/spec/containers/-", {})],
    "escaped keys": [add("/spec/a~1b/x"), add("/spec/m~0n/~0~1")],
    "an empty key": [add("//x")],
    "a longer text": [add("/text", "one,two")],
    "the first entry of a text": [add("/empty", "one")],
    "nothing": [],
}

FLAWED = {
    "a replaced value": [add("/number", 2)],
    "a replaced mapping": [add("/spec", {})],
    "a replaced text": [add("/text", "two")],
    "a text that only begins alike": [add("/text", "oneself")],
    "a text in place of a number": [add("/number", "1")],
    "a number in place of a text": [add("/text", 1)],
    "a missing parent": [add("/metadata/annotations", {})],
    "a missing grandparent": [add("/a/b/c")],
    "a null parent": [add("/null/x")],
    "a text as parent": [add("/text/x")],
    "a number as parent": [add("/number/x")],
    "a text as grandparent": [add("/text/x/y")],
    "a parent that another operation makes": [add("/new", {}), add("/new/x")],
    "an index instead of an append": [add("/spec/containers/0", {})],
    "an index at the end": [add("/spec/containers/2", {})],
    "an index past the end": [add("/spec/containers/7/x")],
    "an index that is a word": [add("/spec/containers/first/x")],
    "an index with a leading zero": [add("/spec/containers/01/x")],
    "an index in foreign digits": [add("/spec/containers/\u0661/x")],
    "an append in the middle": [add("/spec/containers/-/x")],
    "twice the same member": [add("/new"), add("/new")],
    "twice the same text": [add("/text", "one,a"), add("/text", "one,b")],
    "a path without its slash": [add("spec/new")],
    "an escape that there is not": [add("/spec/~2")],
    "an escape without an end": [add("/spec/x~")],
    "an escape that there is not, in a parent": [add("/spec/~/x")],
    "a removal": [{"op": "remove", "path": "/text"}],
    "a replacement": [{"op": "replace", "path": "/text", "value": "two"}],
    "a test": [{"op": "test", "path": "/text", "value": "one"}],
    "a move": [{"op": "move", "path": "/new", "from": "/text"}],
    "a copy": [{"op": "copy", "path": "/new", "from": "/text"}],
    "an addition without a value": [{"op": "add", "path": "/new"}],
    "an addition with a source in place of a value": [{"op": "add", "path": "/new", "from": "/text"}],
    "an addition with more": [{"op": "add", "path": "/new", "value": 1, "from": "/text"}],
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_operations_pass(name: str) -> None:
    assert verify(DOCUMENT, SOUND[name]) is None
    assert is_grown(DOCUMENT, jsonpatch.apply_patch(DOCUMENT, SOUND[name]))


@given(st.permutations([one for made in SOUND.values() for one in made]))
def test_sound_operations_apply_in_any_order(made: list[Json]) -> None:
    assert verify(DOCUMENT, made) is None
    assert is_grown(DOCUMENT, jsonpatch.apply_patch(DOCUMENT, made))


@pytest.mark.parametrize("name", FLAWED)
def test_unsound_operation_is_reported_with_path(name: str) -> None:
    reported = verify(DOCUMENT, FLAWED[name])
    assert reported is not None
    assert reported.startswith(f"{FLAWED[name][-1]['path']}: ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a replaced value", "has a value"),
        ("a replaced text", "has a value"),
        ("a number in place of a text", "has a value"),
        ("twice the same member", "added twice"),
        ("an escape that there is not", "not a pointer"),
        ("an index instead of an append", "not an append"),
        ("a missing parent", "has no parent"),
        ("a removal", "not an addition"),
    ],
)
def test_reason_of_unsound_operation(name: str, reason: str) -> None:
    assert verify(DOCUMENT, FLAWED[name]) == f"{FLAWED[name][-1]['path']}: {reason}"


def test_root_cannot_be_added() -> None:
    assert verify({"spec": {}}, [add("", {})]) == ": not a pointer into the object"


def test_unsound_operation_after_sound_ones() -> None:
    assert verify(DOCUMENT, [*SOUND["an append"], *SOUND["escaped keys"], *FLAWED["a replaced value"]]) is not None


tokens = st.sampled_from(
    [
        *("spec", "containers", "0", "1", "2", "-", "00", "env", "a~1b", "m~0n", "~", "~2", "text", "null", "", "new"),
        "\u0661",
    ]
)
paths = st.lists(tokens, max_size=4).map(lambda steps: "".join(f"/{step}" for step in steps)) | st.just("spec")
operations: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "add", "add", "add", "remove", "replace", "test", "copy"]), "path": paths},
    optional={"value": st.sampled_from([1, {}, [], "one,two", None]), "from": paths},
)


@given(st.lists(operations, max_size=3))
def test_proof_rejects_inapplicable_and_overwriting(made: list[Json]) -> None:
    if verify(DOCUMENT, made) is None:
        assert is_grown(DOCUMENT, jsonpatch.apply_patch(DOCUMENT, made))


def test_proof_does_not_mutate() -> None:
    received = deepcopy(DOCUMENT)
    for made in (*SOUND.values(), *FLAWED.values()):
        verify(DOCUMENT, made)
    assert received == DOCUMENT


@given(st.lists(st.text() | st.integers(0, 10**6), max_size=5))
def test_pointer_round_trip(path: list[str | int]) -> None:
    assert jsonpointer.JsonPointer(pointer(tuple(path))).parts == [str(step) for step in path]
