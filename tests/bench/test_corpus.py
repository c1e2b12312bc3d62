"""The reviews that benchmarks send: different ones, of the size they claim, with the outcome they claim."""

from __future__ import annotations

import json

import pytest

from bench.corpus import KINDS, SIZES, Size, reviews
from webhook.admission import Hook, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

pytestmark = pytest.mark.slow

EVALUATOR = Evaluator.of(Settings())
EVERY = pytest.mark.parametrize(
    ("kind", "size"),
    [(kind, size) for kind in KINDS for size in SIZES],
    ids=lambda value: getattr(value, "title", value),
)


@pytest.mark.exhaustive(every=3)
@EVERY
def test_reviews_differ_and_have_about_their_size(kind: str, size: Size) -> None:
    found = reviews(kind, size)
    assert len(set(found)) == size.different
    assert [len(body) for body in found if not 0.9 * size.bytes < len(body) < 1.25 * size.bytes] == []
    requests = [json.loads(body)["request"] for body in found]
    for differing in ("uid", "name"):
        assert len({request[differing] for request in requests}) == size.different
    variables = {json.dumps(request["object"]["spec"]["containers"][0]["env"]) for request in requests}
    assert len(variables) == size.different


@pytest.mark.exhaustive(every=3)
@EVERY
def test_outcome_is_that_of_the_kind(kind: str, size: Size) -> None:
    outcome = respond(reviews(kind, size)[-1], Hook.MUTATE, EVALUATOR)
    assert (outcome.allowed, bool(outcome.operations)) == {
        "mutated": (True, True),
        "denied": (False, False),
        "untouched": (True, False),
    }[kind]


def test_same_reviews_every_time() -> None:
    assert reviews("mutated", SIZES[0]) == reviews("mutated", SIZES[0])
