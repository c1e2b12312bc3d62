"""The index of taints, against a naive model that compares each taint with each toleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import scheduler
from tests.linear import assert_at_most
from tests.strategies import selecting
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.placement.node_index import NodeIndex, indexing
from webhook.policy.placement.selector import Tolerations, is_lifecycle
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import finished

Json = dict[str, Any]

SCHEDULED = frozenset({"NoSchedule", "NoExecute"})
BOUND = frozenset({"NoExecute"})

tainted = st.lists(selecting.several_taints, max_size=5)


def index(taints: list[list[Taint]]) -> NodeIndex:
    nodes = [Node(f"n{number}", {}, tuple(each)) for number, each in enumerate(taints)]
    return finished(indexing(nodes, NodeClasses(Settings())))


def tolerating(listed: list[Json], keys: set[str]) -> Tolerations:
    tolerations = Tolerations(keys)
    tolerations.add(listed, ("spec", "tolerations"))
    return tolerations


@given(tainted, st.lists(selecting.tolerations, max_size=4), st.sampled_from([SCHEDULED, BOUND]), st.booleans())
def test_untolerated_taints_agree_with_naive_model(
    taints: list[list[Taint]], listed: list[Json], effects: frozenset[str], passing: bool
) -> None:
    counts = [
        sum(
            taint.effect in effects
            and is_lifecycle(taint.key) is passing
            and not any(scheduler.tolerates(toleration, taint) for toleration in listed)
            for taint in each
        )
        for each in taints
    ]
    found = index(taints)
    tolerations = tolerating(listed, {taint.key for each in taints for taint in each})
    some, once = found.taints.untolerated(tolerations, effects, passing=passing)
    assert [int(node.name[1:]) for node in found.nodes(some)] == [at for at, count in enumerate(counts) if count]
    assert [int(node.name[1:]) for node in found.nodes(once)] == [at for at, count in enumerate(counts) if count == 1]


@pytest.mark.slow
def test_taints_of_other_nodes_cost_a_pod_nothing() -> None:
    """A pod with one toleration, among nodes with a taint of their own each. A comparison with each would cost 16."""

    def work(count: int) -> Callable[[], None]:
        found = index([[Taint(f"t{number}", "NoSchedule", str(number))] for number in range(count)])
        tolerations = tolerating([{"key": "t1", "operator": "Exists"}], {"t1"})

        def run() -> None:
            for _ in range(1000):
                found.taints.untolerated(tolerations, SCHEDULED, passing=False)

        return run

    assert_at_most(4, work(250), work(4000))
