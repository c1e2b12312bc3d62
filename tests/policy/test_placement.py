"""Where a pod could land, against brute force over labels and nodes.

The evaluators here are naive on purpose: they read selectors and taints as the Kubernetes documentation tells them,
one requirement after the other, and try every combination of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.checks import CHECKS
from webhook.policy.demand import Demand
from webhook.policy.facts import UNKNOWN, Node, Taint
from webhook.policy.placement import CAPABLE, PRODUCT, REPLICAS, STRATEGY, Lands, Placement, Worlds
from webhook.policy.pod import Pod
from webhook.policy.rules import Ruleset
from webhook.policy.selector import requirement
from webhook.policy.settings import PlacementSettings, Resource, Settings

Json = dict[str, Any]
Labels = Mapping[str, str]

GPU = Resource("nvidia.com/gpu")
SHARED = Resource("nvidia.com/gpu.shared", renamed=True)
POOL = "pool"
NUMBERS = [str(number) for number in range(-1, 6)]
"""Among them one below and one above all that pods here compare with."""

UNIVERSE: dict[str, list[str | None]] = {
    STRATEGY: [None, "mps", "none", "time-slicing", "another", *NUMBERS],
    CAPABLE: [None, "true", "false", "another", *NUMBERS],
    REPLICAS: [None, *NUMBERS, "another"],
    PRODUCT: [None, "T4", "T4-SHARED", "another", "another-SHARED", *NUMBERS],
    POOL: [None, "a", "b", "another", *NUMBERS],
}
"""For each label every value that pods here name, one that none names, and its absence."""

NAMED = {
    STRATEGY: ["mps", "none", "time-slicing"],
    CAPABLE: ["true", "false"],
    REPLICAS: ["0", "1", "2", "3"],
    PRODUCT: ["T4", "T4-SHARED"],
    POOL: ["a", "b", "1", "2", "3"],
}

WORLDS = Worlds(PlacementSettings().mps_labels)


@st.composite
def expressions(draw: st.DrawFn, keys: list[str]) -> Json:
    key = draw(st.sampled_from(keys))
    operator = draw(st.sampled_from(["In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    match operator:
        case "Exists" | "DoesNotExist":
            return {"key": key, "operator": operator}
        case "Gt" | "Lt":
            return {"key": key, "operator": operator, "values": [draw(st.sampled_from(NUMBERS[2:6]))]}
    some = st.lists(st.sampled_from(NAMED[key]), min_size=1, max_size=2, unique=True)
    return {"key": key, "operator": operator, "values": draw(some)}


by_name = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["n0", "n1", "n2"]),
)


@st.composite
def selecting_pods(draw: st.DrawFn, *, names: bool = False) -> Json:
    """A pod that asks for a GPU and selects nodes; by their names too where asked for."""
    spec: Json = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": draw(st.integers(1, 3))}}}]}
    keys = draw(st.lists(st.sampled_from(sorted(NAMED)), min_size=1, max_size=3, unique=True))
    selected = draw(st.lists(st.sampled_from(keys), max_size=2, unique=True))
    spec["nodeSelector"] = {key: draw(st.sampled_from(NAMED[key])) for key in selected}
    term = {"matchExpressions": st.lists(expressions(keys), max_size=3)}
    if names:
        term["matchFields"] = st.lists(by_name, max_size=1)
        spec["nodeName"] = draw(st.sampled_from([None, None, None, "", "n0", "n1"]))
    terms = draw(st.none() | st.lists(st.fixed_dictionaries({}, optional=term), min_size=1, max_size=3))
    if terms is not None:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    return {"spec": spec}


def naive_expression(expression: Json, value: str | None) -> bool:
    """One requirement on the value of a label, None where the node lacks it."""
    values = expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value in NUMBERS and int(value) > int(values[0])
        case "Lt":
            return value in NUMBERS and int(value) < int(values[0])
    raise AssertionError(expression)


def naive_terms(pod: Json) -> list[Json] | None:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms: list[Json] | None = required.get("nodeSelectorTerms")
    return terms


def naive_match(pod: Json, labels: Labels, name: str) -> bool:
    """Whether node selector and required affinity allow a node."""
    if any(labels.get(key) != value for key, value in pod["spec"]["nodeSelector"].items()):
        return False
    terms = naive_terms(pod)
    return terms is None or any(naive_term(term, labels, name) for term in terms)


def naive_term(term: Json, labels: Labels, name: str) -> bool:
    by_labels, by_fields = term.get("matchExpressions", []), term.get("matchFields", [])
    if not by_labels and not by_fields:
        return False
    return all(naive_expression(one, labels.get(one["key"])) for one in by_labels) and all(
        naive_expression(one, name) for one in by_fields
    )


def keys_of(pod: Json) -> set[str]:
    """The labels that the pod names."""
    in_terms = {one["key"] for term in naive_terms(pod) or [] for one in term.get("matchExpressions", [])}
    return in_terms | set(pod["spec"]["nodeSelector"])


def nodes_of_the_universe(pod: Json) -> Iterator[dict[str, str]]:
    """Every combination of values of the labels that the pod names, and of those that tell MPS nodes."""
    unnamed: dict[str, list[str | None]] = {STRATEGY: ["mps", None], CAPABLE: ["true", None]}
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


def could_be_another(labels: Labels) -> bool:
    return labels.get(STRATEGY) != "mps" and labels.get(CAPABLE) != "true"


def naive_by_labels(pod: Json, *, renamed: bool) -> Lands:
    keys = keys_of(pod)
    allowed = [labels for labels in nodes_of_the_universe(pod) if naive_match(pod, labels, "n")]
    if not any(could_be_mps(labels, keys, renamed=renamed) for labels in allowed):
        return Lands.NO
    return Lands.UNKNOWN if any(map(could_be_another, allowed)) else Lands.YES


def placement(pod: Json, nodes: tuple[Node, ...] | None = None, groups: tuple[Node, ...] = ()) -> Placement:
    view = Pod.of_template(pod)
    demand = Demand(view, Ruleset(Settings(), CHECKS, UNKNOWN).of("default").resource)
    return Placement(view, demand, WORLDS, nodes, groups, view.elements("tolerations"))


@given(selecting_pods())
def test_labels_alone(pod: Json) -> None:
    assert placement(pod).lands(GPU) is naive_by_labels(pod, renamed=False)


@given(selecting_pods())
def test_labels_alone_of_a_renamed_resource(pod: Json) -> None:
    assert placement(pod).lands(SHARED) is naive_by_labels(pod, renamed=True)


@given(selecting_pods())
def test_whether_any_node_could_satisfy_the_selectors(pod: Json) -> None:
    wanted = requirement(Pod.of_template(pod))
    expected = any(naive_match(pod, labels, "n") for labels in nodes_of_the_universe(pod))
    assert (wanted is None or wanted.satisfiable({})) is expected


@given(selecting_pods())
def test_whether_whole_cards_could_take_the_pod(pod: Json) -> None:
    allowed = [labels for labels in nodes_of_the_universe(pod) if naive_match(pod, labels, "n")]
    whole = any(labels.get(STRATEGY) not in ("mps", "time-slicing") for labels in allowed)
    assert placement(pod).could_move_to_whole() is whole


@given(selecting_pods())
def test_whether_sharing_nodes_could_take_the_pod(pod: Json) -> None:
    wanted = requirement(Pod.of_template(pod))
    allowed = [labels for labels in nodes_of_the_universe(pod) if naive_match(pod, labels, "n")]
    sharing = any(labels.get(STRATEGY) in ("mps", "time-slicing") for labels in allowed)
    assert (wanted is None or wanted.satisfiable(WORLDS.sharing)) is sharing


taints = st.builds(
    Taint,
    st.sampled_from(["gpu", "dedicated"]),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    st.sampled_from(["", "x"]),
)
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["gpu", "dedicated"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": st.sampled_from(["", "x"]),
        "effect": st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
    },
)


@st.composite
def clusters(draw: st.DrawFn, prefix: str = "n") -> tuple[Node, ...]:
    found = []
    for index in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["mps", "none", "bare"]))
        mps = {STRATEGY: "mps", CAPABLE: "true", REPLICAS: "2", PRODUCT: "T4-SHARED"}
        whole = {STRATEGY: "none", CAPABLE: "false", REPLICAS: "1", PRODUCT: "T4"}
        labels = {"mps": mps, "none": whole, "bare": {}}[kind] | draw(st.sampled_from([{}, {POOL: "a"}, {POOL: "1"}]))
        offered = {GPU.name: draw(st.integers(0, 3))} if draw(st.booleans()) else {}
        found.append(Node(f"{prefix}{index}", labels, tuple(draw(st.lists(taints, max_size=1))), offered))
    return tuple(found)


def naive_tolerates(toleration: Json, taint: Taint) -> bool:
    effect: str = toleration.get("effect", "")
    key: str = toleration.get("key", "")
    if effect not in ("", taint.effect):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint.key)
    return bool(key == taint.key and toleration.get("value", "") == taint.value)


def naive_admits(pod: Json, node: Node) -> bool:
    bound = pod["spec"].get("nodeName")
    if bound and bound != node.name:
        return False
    effects = {"NoExecute"} if bound else {"NoExecute", "NoSchedule"}
    held = pod["spec"].get("tolerations", [])
    kept_off = [
        taint
        for taint in node.taints
        if taint.effect in effects and not any(naive_tolerates(toleration, taint) for toleration in held)
    ]
    return naive_match(pod, node.labels, node.name) and not kept_off


@given(selecting_pods(names=True), clusters(), st.lists(tolerations, max_size=2))
def test_known_nodes_admit_a_pod_as_the_scheduler_would(pod: Json, nodes: tuple[Node, ...], held: list[Json]) -> None:
    pod["spec"]["tolerations"] = held
    judged = placement(pod, nodes)
    assert [judged.admits(node) for node in nodes] == [naive_admits(pod, node) for node in nodes]


@given(selecting_pods(names=True), clusters(), clusters("g"), st.lists(tolerations, max_size=2))
def test_known_nodes_narrow_what_labels_say(
    pod: Json, nodes: tuple[Node, ...], groups: tuple[Node, ...], held: list[Json]
) -> None:
    pod["spec"]["tolerations"] = held
    needed = pod["spec"]["containers"][0]["resources"]["limits"][GPU.name]
    by_labels = placement(pod).lands(GPU)
    candidates = [
        node for node in (*nodes, *groups) if node.resources.get(GPU.name, 0) >= needed and naive_admits(pod, node)
    ]
    mps = {node.labels.get(STRATEGY) == "mps" or node.labels.get(CAPABLE) == "true" for node in candidates}
    expected = by_labels
    if by_labels is not Lands.NO and candidates:
        expected = Lands.UNKNOWN if len(mps) == 2 else Lands.YES if True in mps else Lands.NO
    assert placement(pod, nodes, groups).lands(GPU) is expected


@given(selecting_pods(names=True), clusters())
def test_groups_without_facts_narrow_nothing(pod: Json, groups: tuple[Node, ...]) -> None:
    assert placement(pod, None, groups).lands(GPU) is placement(pod).lands(GPU)


@given(selecting_pods(names=True), clusters())
def test_an_absence_never_relaxes_a_refusal(pod: Json, nodes: tuple[Node, ...]) -> None:
    nowhere = tuple(Node(node.name, node.labels, node.taints, {}) for node in nodes)
    assert placement(pod, nowhere).lands(GPU) is placement(pod).lands(GPU)


def selecting(*expressions: Json) -> Json:
    """A pod with these expressions in one term of its required affinity."""
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"spec": {"containers": [], "affinity": affinity}}


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
def test_what_is_no_expression_is_taken_as_met(expression: Json) -> None:
    assert placement(selecting(expression)).lands(GPU) is Lands.UNKNOWN
    assert placement(selecting(expression), (Node("n", {STRATEGY: "mps"}, (), {GPU.name: 1}),)).lands(GPU) is Lands.YES


@pytest.mark.parametrize(
    ("value", "above_one"),
    [("2", True), ("1", False), ("+2", True), ("-2", False), ("02", True), ("2.0", False), ("two", False), ("", False)],
)
def test_numbers_are_read_as_the_scheduler_does(value: str, above_one: bool) -> None:
    pod = selecting({"key": POOL, "operator": "Gt", "values": ["1"]})
    assert placement(pod, ()).admits(Node("n", {POOL: value})) is above_one


def test_known_nodes_without_labels_could_be_mps_where_no_label_tells() -> None:
    view = Pod.of_template({"spec": {"containers": [{"resources": {"limits": {GPU.name: 1}}}]}})
    demand = Demand(view, Ruleset(Settings(), CHECKS, UNKNOWN).of("default").resource)
    node = Node("n", {STRATEGY: "none"}, (), {GPU.name: 1})
    assert Placement(view, demand, Worlds({}), (node,), (), []).lands(GPU) is Lands.YES
    assert Placement(view, demand, WORLDS, (node,), (), []).lands(GPU) is Lands.NO
