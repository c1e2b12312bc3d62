"""Whatever arrives is answered or refused with words: never another exception, never an answer that is of no use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver import receive
from tests.grown import is_grown
from tests.recorded import body, names
from tests.strategies.configurations import EVALUATORS, configurations
from tests.strategies.pods import pods
from tests.strategies.schema import JSON
from webhook.admission import BadReviewError, Hook, Outcome, respond

Json = dict[str, Any]
Key = tuple[str, str]

hooks = st.sampled_from(list(Hook))
reviews = st.sampled_from(names())
DEFAULT = ("defaults", "unknown")


def answered(data: bytes, hook: Hook, configuration: Key = DEFAULT) -> Outcome | None:
    """The outcome of a review, None where it is refused; an outcome's answer is one that the API server takes."""
    outcome = outcome_or_words(data, hook, configuration)
    if isinstance(outcome, str):
        assert 0 < len(outcome) < 1000
        return None
    assert outcome.proof_failure is None
    assert isinstance(outcome.name, str)
    received = {"uid": outcome.request.uid, "object": outcome.request.object}
    reception = receive(outcome.body(), received, mutating=hook.mutates)
    if reception.allowed:
        assert is_grown(received["object"], reception.object)
    return outcome


def outcome_or_words(data: bytes, hook: Hook, configuration: Key = DEFAULT) -> Outcome | str:
    """The outcome of a review, or the words with which it is refused."""
    try:
        return respond(data, hook, EVALUATORS[configuration])
    except BadReviewError as error:
        return str(error)


@given(st.binary(max_size=400), hooks)
def test_any_bytes(data: bytes, hook: Hook) -> None:
    answered(data, hook)


@given(st.text(max_size=200), hooks)
def test_any_text(text: str, hook: Hook) -> None:
    answered(text.encode(errors="surrogatepass"), hook)


@given(JSON, hooks)
def test_any_json(value: Any, hook: Hook) -> None:
    assert answered(json.dumps(value).encode(), hook) is None


@given(reviews, hooks, st.floats(0, 1))
def test_truncated_review(name: str, hook: Hook, where: float) -> None:
    whole = body(name).rstrip()
    cut = int(where * (len(whole) - 1))
    with pytest.raises(BadReviewError):
        respond(whole[:cut], hook, EVALUATORS[DEFAULT])


@given(reviews, hooks, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=3))
def test_corrupted_review(name: str, hook: Hook, flips: list[tuple[float, int]]) -> None:
    data = bytearray(body(name))
    for where, byte in flips:
        data[int(where * (len(data) - 1))] = byte
    answered(bytes(data), hook)


def places(node: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all nodes below a value."""
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [found for step, child in steps for found in ((*path, step), *places(child, (*path, step)))]


GONE = object()
strange = st.sampled_from([GONE, None, True, 0, -1, 1.5, "", "x", [], {}, [None], [{}], {"": None}, [[]], 10**30])


@given(reviews, hooks, configurations, st.data())
def test_review_with_removed_or_retyped_node(name: str, hook: Hook, configuration: Key, data: st.DataObject) -> None:
    review = json.loads(body(name))
    inside = [place for place in places(review) if "managedFields" not in place]
    for _ in range(data.draw(st.integers(1, 2))):
        change(review, data.draw(st.sampled_from(inside)), data.draw(strange))
    answered(json.dumps(review).encode(), hook, configuration)


def change(review: Json, place: tuple[str | int, ...], value: object) -> None:
    """Replace or remove the node at a place, where it is still there."""
    node: Any = review
    try:
        for step in place[:-1]:
            node = node[step]
        if value is GONE:
            del node[place[-1]]
        else:
            node[place[-1]] = value
    except (KeyError, IndexError, TypeError):
        return


@given(pods(), hooks, configurations)
def test_any_pod_in_a_review(pod: Json, hook: Hook, configuration: Key) -> None:
    review = json.loads(body("create-pod-vectoradd"))
    review["request"]["object"] = pod
    assert answered(json.dumps(review).encode(), hook, configuration) is not None


def is_gated(pod: Json) -> bool:
    return bool((pod.get("spec") or {}).get("schedulingGates"))


@pytest.mark.slow
@given(pods(), pods(), hooks, configurations)
def test_any_update_of_a_pod(new: Json, old: Json, hook: Hook, configuration: Key) -> None:
    """Only the removal of the last gate may be denied: it is checked like a create."""
    review = json.loads(body("update-pod-vectoradd"))
    review["request"] |= {"object": new, "oldObject": old}
    outcome = answered(json.dumps(review).encode(), hook, configuration)
    assert outcome is not None
    assert outcome.allowed or (is_gated(old) and not is_gated(new))
    assert {operation["path"] for operation in outcome.operations} <= {"/spec/tolerations", "/spec/tolerations/-"}


@pytest.mark.slow
@given(pods(), pods(), hooks, configurations)
def test_any_template(new: Json, old: Json, hook: Hook, configuration: Key) -> None:
    review = json.loads(body("update-deployment-inference"))
    review["request"]["object"]["spec"]["template"] = new
    review["request"]["oldObject"]["spec"]["template"] = old
    outcome = answered(json.dumps(review).encode(), hook, configuration)
    assert outcome is not None
    assert outcome.operations == []


DEPTHS = [50, 400, 480, 700, 900, 950, 990, 1100, 100_000]
NESTS = {"lists": ("[", "]"), "mappings": ('{"a":', "}"), "both": ('[{"a":', "}]")}
PLACES = {
    "spec": ("update-deployment-inference", b'"replicas":3', '"replicas":3,"fieldOfTheFuture":{nest}'),
    "template": ("update-deployment-inference", b'"schedulerName":', '"fieldOfTheFuture":{nest},"schedulerName":'),
    "pod": ("create-pod-vectoradd", b'"schedulerName":', '"fieldOfTheFuture":{nest},"schedulerName":'),
    "managedFields": ("create-pod-vectoradd", b'"managedFields":', '"managedFields":{nest},"other":'),
    "review": ("create-pod-vectoradd", b'"dryRun":', '"fieldOfTheFuture":{nest},"dryRun":'),
}


@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize("hook", list(Hook), ids=lambda hook: hook.path)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_nesting_depth(depth: int, nest: str, place: str, hook: Hook) -> None:
    name, where, with_nest = PLACES[place]
    start, end = NESTS[nest]
    deep = with_nest.replace("{nest}", start * depth + "1" + end * depth).encode()
    whole = json.dumps(json.loads(body(name)), separators=(",", ":")).encode()
    assert where in whole
    outcome = outcome_or_words(whole.replace(where, deep), hook)
    if isinstance(outcome, str):
        assert "too deeply" in outcome or "objects and lists" in outcome
    else:
        assert json.loads(outcome.body())["response"]["uid"] == outcome.request.uid
