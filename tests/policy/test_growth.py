"""CPU time grows linearly with every list, mapping and text of a pod that the policy reads, alone and in pairs."""

from __future__ import annotations

import time

import pytest

from tests.policy.growing import CONFIGURATIONS, ORIGINS, UNITS, answer, dimensions, grown
from tests.strategies.configurations import EVALUATORS
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext

pytestmark = pytest.mark.slow


def seconds(names: tuple[str, ...], count: int, evaluator: OfflineEvaluator, origin: RequestContext) -> float:
    """The CPU time for a pod with members of this size."""
    pod = grown(names, count)
    start = time.process_time()
    answer(pod, evaluator, origin)
    return time.process_time() - start


TIMES = 4
FLOOR = 0.004
"""Seconds below which the time is noise, and harmless."""

TOLERATED = 2.5
"""Quadratic growth multiplies the time by 16, linear growth by 4: 4 x 2.5 lies between them on a noisy machine."""


def assert_linear(names: tuple[str, ...], count: int, evaluator: OfflineEvaluator, origin: RequestContext) -> None:
    """Compare the best of several runs; what looks quadratic is measured again before it fails."""
    small = large = 0.0
    for _ in range(5):
        large = seconds(names, count * TIMES, evaluator, origin)
        if large < FLOOR:
            return
        small = min(seconds(names, count, evaluator, origin) for _ in range(3))
        if large <= TIMES * TOLERATED * max(small, FLOOR / TIMES):
            return
    raise AssertionError(f"{' x '.join(names)}: {small:.4f} s for {count}, {large:.4f} s for {count * TIMES}")


def test_recording_finds_members() -> None:
    found = {name.partition(" of ")[0] for name in dimensions()}
    assert len(found) > 30, sorted(found)
    for name in (
        "metadata/annotations",
        "spec/nodeSelector",
        "spec/tolerations",
        "spec/volumes",
        "spec/containers/[]/env",
        "spec/containers/[]/volumeMounts/[]/mountPath",
        "spec/containers/[]/resources/limits",
        "spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    ):
        assert name in found, sorted(found)


@pytest.mark.exhaustive(every=9)
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=" ".join)
def test_cpu_time_is_linear_in_each_member(configuration: tuple[str, str]) -> None:
    for name in dimensions():
        for origin in ORIGINS:
            assert_linear((name,), 1000, EVALUATORS[configuration], origin)


LISTS_AND_MAPPINGS = [name for name in dimensions() if " of " not in name]


IN_PAIRS = [name for name in dimensions() if not name.endswith(UNITS[1:-1])]
"""In pairs, texts consist of one ordinary and one odd unit only, to keep the number of pairs down."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", LISTS_AND_MAPPINGS)
def test_cpu_time_is_linear_in_pairs_of_members(first: str) -> None:
    for second in IN_PAIRS:
        if second > first or second not in LISTS_AND_MAPPINGS:
            assert_linear((first, second), 300, EVALUATORS["steering", "mixed"], ORIGINS[0])
