"""Nothing of a tenant's long text is kept after the answer: no cache, no memo, no rule of a namespace."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.policy.growing import CONFIGURATIONS, ORIGINS, answer, dimensions, grown
from tests.strategies.configurations import EVALUATORS
from webhook.policy.context import RequestContext

pytestmark = pytest.mark.slow

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


TEXTS = [name for name in dimensions() if name.endswith((" of x", " of /."))]


@pytest.mark.exhaustive(every=8)
@pytest.mark.parametrize("name", TEXTS)
def test_long_text_is_not_kept(name: str) -> None:
    evaluator = EVALUATORS[CONFIGURATIONS[1]]
    answer(grown((name,), LONG), evaluator, ORIGINS[0])
    with nothing_kept():
        for more in range(1, 4):
            answer(grown((name,), LONG + more), evaluator, ORIGINS[0])


@pytest.mark.parametrize("name", ["metadata/annotations", "spec/containers/[]/resources/limits", "spec/nodeSelector"])
def test_long_names_are_not_kept(name: str) -> None:
    evaluator = EVALUATORS[CONFIGURATIONS[1]]
    place, _ = dimensions()[name]
    with nothing_kept():
        for more in range(4):
            pod = grown((name,), 1)
            holder = pod
            for step in place:
                holder = holder[0] if step == "[]" else holder[step]  # type: ignore[index]
            holder["nvidia.com/" + "g" * (LONG + more)] = "1"
            answer(pod, evaluator, ORIGINS[0])
            del pod, holder


def test_long_quantity_is_not_kept() -> None:
    evaluator = EVALUATORS[CONFIGURATIONS[0]]
    with nothing_kept():
        for more in range(4):
            pod = grown((), 1)
            pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "0" * (LONG + more) + "1"
            answer(pod, evaluator, ORIGINS[0])
            del pod


def test_long_namespace_is_not_kept() -> None:
    evaluator = EVALUATORS[CONFIGURATIONS[0]]
    with nothing_kept():
        for more in range(4):
            answer(grown((), 1), evaluator, RequestContext("n" * (LONG + more)))
