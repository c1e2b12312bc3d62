"""Where a pod could land as far as labels tell, against brute force over every combination of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given

from tests import scheduler
from tests.policy.placement.landing import NODE_CLASSES, admitted, placement
from tests.strategies.selecting import GPU, NUMBERS, POOL, SHARED, selecting, selecting_pods
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.node_classes import CAPABLE, PRODUCT, REPLICAS, STRATEGY
from webhook.policy.placement.reachability import Reachability
from webhook.policy.placement.selector import Constraint, requirement
from webhook.policy.pods.pod import Pod

Json = dict[str, Any]
Labels = Mapping[str, str]

UNIVERSE: dict[str, list[str | None]] = {
    STRATEGY: [None, "mps", "none", "time-slicing", "another", *NUMBERS],
    CAPABLE: [None, "true", "false", "another", *NUMBERS],
    REPLICAS: [None, *NUMBERS, "another"],
    PRODUCT: [None, "T4", "T4-SHARED", "another", "another-SHARED", *NUMBERS],
    POOL: [None, "a", "b", "another", *NUMBERS],
}
"""For each label every value that pods here name, one that none names, and its absence."""


def keys_of(pod: Json) -> set[str]:
    """The labels that the pod names."""
    in_terms = {one["key"] for term in scheduler.terms_of(pod) or [] for one in term.get("matchExpressions", [])}
    return in_terms | set(pod["spec"]["nodeSelector"])


def nodes_of_the_universe(pod: Json) -> Iterator[dict[str, str]]:
    """Every combination of values of the labels that the pod names, and of those that tell MPS nodes."""
    unnamed: dict[str, list[str | None]] = {STRATEGY: ["mps", "time-slicing", None], CAPABLE: ["true", None]}
    tried = unnamed | {key: UNIVERSE[key] for key in keys_of(pod)}
    for values in product(*tried.values()):
        yield {key: value for key, value in zip(tried, values, strict=True) if value is not None}


def could_be_mps(labels: Labels, pod_keys: set[str], *, renamed: bool) -> bool:
    """Whether an MPS node may carry these labels: both of the plugin's, at least two replicas, a shared product."""
    if labels.get(STRATEGY) != "mps" or labels.get(CAPABLE) != "true":
        return False
    if REPLICAS in pod_keys and labels.get(REPLICAS) not in NUMBERS[3:]:
        return False
    return renamed or PRODUCT not in pod_keys or labels.get(PRODUCT, "").endswith("-SHARED")


@pytest.mark.parametrize(("suffix", "agrees"), [("", True), ("-SHARED", False)])
@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_number_agrees_with_no_suffix(operator: str, suffix: str, agrees: bool) -> None:
    numbers, shared = Constraint(), Constraint(suffix=suffix)
    numbers.add(operator, ["4"])
    assert numbers.agrees_with(shared) is agrees
    assert shared.agrees_with(numbers) is agrees


@pytest.mark.parametrize(
    ("operator", "holds"), [("In", False), ("NotIn", True), ("Exists", False), ("DoesNotExist", True), ("Gt", False)]
)
def test_missing_label_meets_only_negative_operators(operator: str, holds: bool) -> None:
    constraint = Constraint()
    constraint.add(operator, ["4"])
    assert constraint.holds(None) is holds


def could_be_another(labels: Labels) -> bool:
    return labels.get(STRATEGY) != "mps" and labels.get(CAPABLE) != "true"


def naive_by_labels(pod: Json, *, renamed: bool) -> Reachability:
    keys = keys_of(pod)
    allowed = [labels for labels in nodes_of_the_universe(pod) if scheduler.selects(pod, labels, "n")]
    if not any(could_be_mps(labels, keys, renamed=renamed) for labels in allowed):
        return Reachability.NO
    return Reachability.UNKNOWN if any(map(could_be_another, allowed)) else Reachability.YES


def test_null_node_selector_value_is_empty_text() -> None:
    wanted = requirement(Pod.of_template({"spec": {"nodeSelector": {"a": None, "b": "c"}}}))
    assert wanted is not None
    assert wanted.selector == {"a": "", "b": "c"}


@given(selecting_pods())
def test_labels_alone(pod: Json) -> None:
    assert placement(pod).lands(GPU) is naive_by_labels(pod, renamed=False)


@given(selecting_pods())
def test_labels_alone_with_renamed_resource(pod: Json) -> None:
    assert placement(pod).lands(SHARED) is naive_by_labels(pod, renamed=True)


@given(selecting_pods())
def test_selectors_are_satisfiable(pod: Json) -> None:
    wanted = requirement(Pod.of_template(pod))
    expected = any(scheduler.selects(pod, labels, "n") for labels in nodes_of_the_universe(pod))
    assert (wanted is None or wanted.satisfiable({})) is expected


@given(selecting_pods())
def test_whole_card_nodes_satisfy_selectors(pod: Json) -> None:
    allowed = [labels for labels in nodes_of_the_universe(pod) if scheduler.selects(pod, labels, "n")]
    whole = any(
        labels.get(STRATEGY) not in ("mps", "time-slicing")
        and labels.get(CAPABLE) != "true"
        and labels.get(REPLICAS) in (None, "0", "1")
        and not labels.get(PRODUCT, "").endswith("-SHARED")
        for labels in allowed
    )
    assert placement(pod).could_move_to_whole() is whole


def could_be_time_sliced(labels: Labels, pod_keys: set[str]) -> bool:
    replicas = REPLICAS not in pod_keys or labels.get(REPLICAS) in NUMBERS[3:]
    return labels.get(STRATEGY) == "time-slicing" and replicas


@given(selecting_pods())
def test_sharing_nodes_satisfy_selectors(pod: Json) -> None:
    wanted = requirement(Pod.of_template(pod))
    keys = keys_of(pod)
    allowed = [labels for labels in nodes_of_the_universe(pod) if scheduler.selects(pod, labels, "n")]
    sharing = any(could_be_mps(labels, keys, renamed=True) or could_be_time_sliced(labels, keys) for labels in allowed)
    assert (wanted is None or NODE_CLASSES.can_share(wanted)) is sharing


@pytest.mark.parametrize(
    "expression",
    [
        {"key": STRATEGY, "operator": "Near", "values": ["mps"]},
        {"key": STRATEGY, "operator": None, "values": None},
        {"key": REPLICAS, "operator": "Gt", "values": ["many"]},
        {"key": REPLICAS, "operator": "Lt", "values": ["1", "2"]},
        {"key": REPLICAS, "operator": "Gt", "values": []},
        {"key": REPLICAS, "operator": "Lt"},
        {},
    ],
    ids=str,
)
def test_invalid_expression_counts_as_met(expression: Json) -> None:
    assert placement(selecting(expression)).lands(GPU) is Reachability.UNKNOWN
    assert (
        placement(selecting(expression), (Node("n", {STRATEGY: "mps"}, (), {GPU.name: 1}),)).lands(GPU)
        is Reachability.YES
    )


@pytest.mark.parametrize(
    ("value", "above_one"),
    [
        *[("2", True), ("02", True), ("+2", True), ("-2", False), ("1", False)],
        *[("2.0", False), ("two", False), ("", False)],
        *[("9223372036854775807", True), ("9223372036854775808", False), ("00000000000000000000002", True)],
        *[("99999999999999999999", False), ("\u0662", False), ("1_0", False), (" 2", False), ("+", False)],
    ],
)
def test_integers_parse_like_scheduler(value: str, above_one: bool) -> None:
    pod = selecting({"key": POOL, "operator": "Gt", "values": ["1"]})
    assert bool(admitted(pod, (Node("n", {POOL: value}),))) is above_one
