"""Nothing of a tenant's long text is kept after the answer: no cache, no memo, no rule of a namespace."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.policy.test_growth import EVALUATOR, Growth, by_server, one_in, review, singles
from webhook.policy.context import RequestContext

pytestmark = pytest.mark.slow

Json = dict[str, Any]

LONG = 200_000
KEPT = LONG // 2
"""Bytes: less than one long text, more than what short ones leave."""


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Whatever is answered in the context, less than one long text is still held when it ends."""
    tracemalloc.start()
    try:
        yield
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < KEPT


TEXTS = [one for one in one_in(1, singles) if one.object["kind"] == "Pod" and one.members[0].unit in ("x", "/.")]


def name_of(growth: Growth) -> str:
    return "/".join(map(str, growth.members[0].place))


@pytest.mark.exhaustive(every=8)
@pytest.mark.parametrize("growth", TEXTS, ids=name_of)
def test_long_text_is_not_kept(growth: Growth) -> None:
    answer(growth.grown(LONG))
    with nothing_kept():
        for more in range(1, 4):
            answer(growth.grown(LONG + more))


def answer(pod: Json) -> None:
    by_server(pod, review(pod))


def pod_with(place: str, name: str, value: str = "1") -> Json:
    """A pod that asks for a GPU, with another name in one of its mappings."""
    limits, annotations, selector = {"nvidia.com/gpu": "1"}, dict[str, str](), dict[str, str]()
    {"limits": limits, "annotations": annotations, "nodeSelector": selector}[place][name] = value
    spec = {"containers": [{"name": "c", "resources": {"limits": limits}}], "nodeSelector": selector}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize("place", ["annotations", "limits", "nodeSelector"])
def test_long_names_are_not_kept(place: str) -> None:
    with nothing_kept():
        for more in range(4):
            answer(pod_with(place, "nvidia.com/" + "g" * (LONG + more)))


def test_long_quantity_is_not_kept() -> None:
    with nothing_kept():
        for more in range(4):
            answer(pod_with("limits", "nvidia.com/gpu", "0" * (LONG + more) + "1"))


def test_long_namespace_is_not_kept() -> None:
    pod = pod_with("limits", "nvidia.com/gpu")
    with nothing_kept():
        for more in range(4):
            EVALUATOR.evaluate(pod, "", "Pod", RequestContext("n" * (LONG + more)))
