"""Structure is counted before it is decoded, as a JSON parser would count it, and bounds what is decoded."""

from __future__ import annotations

import json
import threading
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.recorded import body
from webhook.admission import BadReviewError, Hook, TooComplexError, respond, review
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

EVALUATOR = Evaluator.of(Settings())
MIB = 2**20
TEXTS = st.text(st.sampled_from('\\"[]{},:a\u00e9\U0001f600\n'), max_size=12)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=40,
)


def counted(value: Any) -> tuple[int, int, int]:
    """The containers, keys and commas of a parsed value."""
    if not isinstance(value, list | dict):
        return 0, 0, 0
    inner = list(value.values()) if isinstance(value, dict) else value
    below = [counted(one) for one in inner]
    keys = len(inner) if isinstance(value, dict) else 0
    containers, further, commas = (sum(one[place] for one in below) for place in range(3))
    return 1 + containers, keys + further, max(0, len(inner) - 1) + commas


def is_taken(text: bytes, containers: int, values: int, stretch: int, keys: int = 10**6) -> bool:
    """Whether the limits allow a text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(review, "CONTAINERS", containers)
        patch.setattr(review, "KEYS", keys)
        patch.setattr(review, "VALUES", values)
        patch.setattr(review, "STRETCH", stretch)
        try:
            review.check(text)
        except TooComplexError:
            return False
        return True


@given(VALUES, st.integers(1, 9), st.booleans())
@example({'\\"': ["\\\\", '\\\\"[', "{"]}, 1, False)
def test_count_equals_parser(value: Any, stretch: int, ascii_only: bool) -> None:
    """With stretches of a few bytes, so that every escape lies across a border somewhere."""
    containers, keys, commas = counted(value)
    # Spaces, since a text with fewer bytes than there may be brackets is not looked at.
    text = json.dumps(value, ensure_ascii=ascii_only).encode() + b" " * (containers + 1)
    assert is_taken(text, containers, 10**6, stretch)
    assert not is_taken(text, containers - 1, 10**6, stretch)
    assert is_taken(text, containers, 10**6, stretch, keys)
    assert not is_taken(text, containers, 10**6, stretch, keys - 1) or not keys
    assert is_taken(text, containers, commas + 3 * containers, stretch)
    assert not is_taken(text, containers, commas + 3 * containers - 1, stretch) or not containers


@given(st.binary(max_size=60), st.integers(1, 9))
def test_any_bytes_are_counted(text: bytes, stretch: int) -> None:
    assert is_taken(text, 60, 300, stretch)


def in_spec(inner: bytes) -> bytes:
    """A review of a Pod whose only env value, or whatever else, is this JSON text."""
    head = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"kind":"Pod"},'
    return head + b'"operation":"CREATE","object":{"spec":{"containers":[],"unknown":' + inner + b"}}}}"


@pytest.mark.parametrize("char", ["[", "{", ",", ":", "7", "<", '"', "\\"])
def test_text_of_brackets_is_answered(char: str) -> None:
    text = json.dumps(char * 1_400_000).replace("<", "\\u003c").encode()
    assert respond(in_spec(text), Hook.MUTATE, EVALUATOR).allowed


@pytest.mark.parametrize(
    ("inner", "says"),
    [
        (b"[" + b",".join([b"{}"] * 300_001) + b"]", "300000 objects and lists"),
        (b"[" * 400_000, "300000 objects and lists"),
        (b"[" + b",".join([b'"a"'] * 1_600_001) + b"]", "1600000 values"),
        (b"[" + b",".join([b'["a","a","a","a","a"]'] * 290_000) + b"]", "1600000 values"),
        (b"{" + b",".join([b'"a":1'] * 500_001) + b"}", "500000 keys"),
        (b"[" + b",".join([b"1" * 4300] * 100) + b"]", "400 digits"),
        (b"[" + b",".join([b'{"a":"[\\""}'] * 300_001) + b"]", "300000 objects and lists"),
    ],
    ids=["objects", "depth", "values", "lists of values", "keys", "digits", "beside strings"],
)
def test_too_complex_review_is_rejected(inner: bytes, says: str) -> None:
    with pytest.raises(TooComplexError, match=says):
        respond(in_spec(inner), Hook.MUTATE, EVALUATOR)


def test_most_objects_allowed_are_decoded() -> None:
    around = 6
    text = in_spec(b"[" + b",".join([b"{}"] * (review.CONTAINERS - around - 1)) + b"]")
    assert text.count(b"{") + text.count(b"[") == review.CONTAINERS
    assert respond(text, Hook.MUTATE, EVALUATOR).allowed


@pytest.mark.parametrize("number", [b"1e999", b"-1e400"])
def test_number_out_of_range_is_rejected(number: bytes) -> None:
    with pytest.raises(BadReviewError, match="out of range"):
        respond(in_spec(number), Hook.MUTATE, EVALUATOR)


@pytest.mark.slow
def test_float_decoding_yields_to_threads() -> None:
    """Floats next to the smallest one there is: decoding them must not be one long call."""
    text = in_spec(b"[" + b",".join([b"2.2250738585072011e-308"] * 200_000) + b"]")
    turns, began, ended = 0, threading.Event(), threading.Event()

    def turn() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += began.is_set()
            ended.wait(0.001)

    other = threading.Thread(target=turn)
    other.start()
    try:
        began.set()
        assert respond(text, Hook.MUTATE, EVALUATOR).allowed
    finally:
        ended.set()
        other.join()
    # One long call leaves the other thread a turn before it and one after it.
    assert turns > 5, turns


@pytest.mark.slow
@pytest.mark.parametrize("unit", [b'""', b'"",', b'\\"', b"\\\\", b'"["["', b"a", b'"a":[1],'])
def test_counting_memory_is_bounded(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "CONTAINERS", 2 * MIB)
    monkeypatch.setattr(review, "KEYS", 100 * MIB)
    monkeypatch.setattr(review, "VALUES", 100 * MIB)
    text = bytearray(unit * (4 * MIB // len(unit)))
    tracemalloc.start()
    try:
        review.check(text)
        assert tracemalloc.get_traced_memory()[1] < 2 * MIB
    finally:
        tracemalloc.stop()


def test_long_uid_is_rejected() -> None:
    review = json.loads(body("create-pod-vectoradd"))
    review["request"]["uid"] = "u" * 128
    assert respond(json.dumps(review).encode(), Hook.MUTATE, EVALUATOR).request.uid == "u" * 128
    review["request"]["uid"] += "u"
    with pytest.raises(BadReviewError, match="more than 128 characters"):
        respond(json.dumps(review).encode(), Hook.MUTATE, EVALUATOR)


@pytest.mark.parametrize("member", ["kind", "apiVersion"])
def test_untrusted_name_in_message_is_printable(member: str) -> None:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", member: "\x1b[31m\n::error\u202e" * 100}
    with pytest.raises(BadReviewError) as refused:
        respond(json.dumps(review).encode(), Hook.MUTATE, EVALUATOR)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("key", ["k\n\x1b[2J", "k" * 100_000])
def test_key_in_message_is_printable_and_short(key: str) -> None:
    review = json.loads(body("create-pod-vectoradd"))
    review["request"]["object"]["spec"]["nodeSelector"] = {key: 1}
    with pytest.raises(BadReviewError, match="expected text, found a number") as refused:
        respond(json.dumps(review).encode(), Hook.MUTATE, EVALUATOR)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) <= 400
