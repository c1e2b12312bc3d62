"""Memory size: the pod selects the nodes that it selected before and that give it the memory, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonpatch
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import scheduler
from tests.strategies.selecting import by_name
from webhook.patch import build, verify
from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import DeviceClass, Node
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.placement.memory import ANNOTATION, MOST_KINDS, MOST_TERMS, CardLabels, mebibytes_of, written
from webhook.policy.placement.node_classes import CAPABLE, CARD_COUNT, CARD_MEMORY, REPLICAS, STRATEGY
from webhook.policy.placement.selector import ANALYSED
from webhook.policy.settings.settings import (
    Injections,
    MemoryInjection,
    Settings,
    SteeringInjection,
    TolerationInjection,
    VoidDevicesInjection,
)
from webhook.policy.verdict import MOST_EDITS, Decision, Finding, Severity, Verdict

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
PINNED = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
MEBIBYTE = 2**20
SIZES = {"6Gi": 6 * 2**30, "6144Mi": 6 * 2**30, "1e9": 10**9, "1500M": 15 * 10**8, "40Gi": 40 * 2**30, "1": 1}
CARDS = ["15360", "16384", "40960", "81920"]
VALUES = {CARD_MEMORY: CARDS, REPLICAS: ["1", "2", "4", "10"], "pool": ["a", "b"]}


def settings(*, steering: bool = False) -> Settings:
    injections = Injections(
        memory=MemoryInjection(True),
        steering=SteeringInjection(steering),
        tolerations=TolerationInjection(False),
    )
    return Settings(injections=injections)


def verdict_of(pod: Json, nodes: tuple[Node, ...] | None, *, final: bool = False, steering: bool = False) -> Verdict:
    facts = UNKNOWN if nodes is None else Facts(nodes=nodes)
    origin = Origin("default", is_final_hook=final, hostpath=None if final else True, groups=())
    return Evaluator.of(settings(steering=steering), facts).evaluate(pod, "", "Pod", origin)


def mutated_by(verdict: Verdict, pod: Json) -> Json:
    operations = build(pod, verdict.edits)
    assert verify(pod, operations) is None
    mutated: Json = jsonpatch.apply_patch(pod, operations)
    return mutated


def about_annotation(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.code == "GPS018"]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Node, ...]:
    """Nodes as GPU feature discovery labels them, some labelled by hand and incompletely, some without GPUs."""
    found = []
    for index in range(draw(st.integers(0, 6))):
        labels = draw(st.sampled_from([{}, {"pool": "a"}, {"pool": "b"}]))
        labels |= draw(st.sampled_from([{}, {STRATEGY: "none"}, {STRATEGY: "mps"}, {CAPABLE: "true"}]))
        labels |= {CARD_MEMORY: draw(st.sampled_from([*CARDS, *CARDS, "0", "much"]))} if draw(st.integers(0, 9)) else {}
        labels |= {REPLICAS: draw(st.sampled_from(["0", "1", "2", "4", "10"]))} if draw(st.integers(0, 3)) else {}
        found.append(Node(f"n{index}", labels, (), {GPU: 4} if draw(st.integers(0, 4)) else {"cpu": 4}))
    return tuple(found)


@st.composite
def expressions(draw: st.DrawFn) -> Json:
    key = draw(st.sampled_from(sorted(VALUES)))
    operator = draw(st.sampled_from(["In", "In", "NotIn", "Exists", "DoesNotExist"]))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = st.lists(st.sampled_from(VALUES[key]), min_size=1, max_size=3, unique=True)
    return {"key": key, "operator": operator, "values": draw(values)}


@st.composite
def asking_pods(draw: st.DrawFn, replicas: int = 1, most_terms: int = 6) -> Json:
    spec: Json = {"containers": [{"name": "c", "resources": {"limits": {GPU: replicas}}}]}
    selected = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=1))
    spec["nodeSelector"] = {key: draw(st.sampled_from(VALUES[key])) for key in selected}
    term = {"matchExpressions": st.lists(expressions(), max_size=2), "matchFields": st.lists(by_name, max_size=1)}
    a_term = st.fixed_dictionaries({}, optional=term)
    terms = draw(st.none() | st.lists(a_term, min_size=1, max_size=most_terms))
    if terms is not None:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    return {"metadata": {"annotations": {ANNOTATION: draw(st.sampled_from(sorted(SIZES)))}}, "spec": spec}


def bytes_of(pod: Json) -> int:
    return SIZES[pod["metadata"]["annotations"][ANNOTATION]]


def share_of(node: Node) -> int | None:
    """The bytes of one replica, None where the labels do not say. The plugin hands out whole MiB."""
    memory = node.labels.get(CARD_MEMORY, "")
    if not memory.isdecimal() or int(memory) == 0:
        return None
    is_shared = node.labels.get(STRATEGY) == "mps" or node.labels.get(CAPABLE) == "true"
    replicas = int(node.labels.get(REPLICAS, 0))
    if replicas == 0 and is_shared:
        return None
    return int(memory) // max(replicas, 1) * MEBIBYTE


def fitting(pod: Json, nodes: tuple[Node, ...]) -> list[Node]:
    """The nodes with enough memory, except those whose labels another node has for which they do not show it."""
    offering = [node for node in nodes if GPU in node.resources]
    small = {
        (node.labels.get(CARD_MEMORY), node.labels.get(REPLICAS))
        for node in offering
        if (share_of(node) or 0) < bytes_of(pod)
    }
    return [node for node in offering if (node.labels.get(CARD_MEMORY), node.labels.get(REPLICAS)) not in small]


def selected(pod: Json, nodes: tuple[Node, ...]) -> list[Node]:
    return [node for node in nodes if GPU in node.resources and scheduler.selects(pod, node.labels, node.name)]


@given(asking_pods(), clusters())
def test_pod_selects_nodes_that_fit(pod: Json, nodes: tuple[Node, ...]) -> None:
    verdict = verdict_of(pod, nodes)
    if about_annotation(verdict):
        return
    mutated = mutated_by(verdict, pod)
    fits = fitting(pod, nodes)
    assert selected(mutated, nodes) == [node for node in selected(pod, nodes) if node in fits]
    assert len(scheduler.terms_of(mutated) or ()) <= max(MOST_TERMS, len(scheduler.terms_of(pod) or ()))


@given(asking_pods(most_terms=3), clusters())
def test_finding_when_no_node_fits(pod: Json, nodes: tuple[Node, ...]) -> None:
    """With as few terms and kinds of nodes as here, the limit on terms is out of reach."""
    found = about_annotation(verdict_of(pod, nodes))
    offering = [node for node in nodes if GPU in node.resources]
    considered = selected(pod, nodes) or offering
    fits = fitting(pod, nodes)
    if any(node in fits for node in considered):
        assert found == []
        return
    shares = [share_of(node) for node in considered]
    is_certain = considered and all(share is not None and share < bytes_of(pod) for share in shares)
    assert [finding.severity for finding in found] == [Severity.DENY if is_certain else Severity.WARN]
    if is_certain:
        largest = max(share or 0 for share in shares) // MEBIBYTE
        assert written(largest) in found[0].message
        assert written(largest) in found[0].remedy


@given(asking_pods(), clusters() | st.none(), st.booleans())
def test_mutation_is_idempotent_and_final_hook_agrees(
    pod: Json, nodes: tuple[Node, ...] | None, steering: bool
) -> None:
    first = verdict_of(pod, nodes, steering=steering)
    if first.decision is Decision.DENIED:
        return
    mutated = mutated_by(first, pod)
    again = verdict_of(mutated, nodes, steering=steering)
    assert again.edits == ()
    assert without_nearest_node(again) == without_nearest_node(first)
    final = verdict_of(mutated, nodes, steering=steering, final=True)
    assert without_nearest_node(final) == without_nearest_node(first)


def without_nearest_node(verdict: Verdict) -> list[Finding]:
    """The findings; GPS014 without its text and path, because the mutated pod requires more, so another is nearest."""
    return [
        replace(found, path=(), message="", remedy="") if found.code == "GPS014" else found
        for found in verdict.findings
    ]


PLAIN: Json = {
    "metadata": {"annotations": {ANNOTATION: "6Gi"}},
    "spec": {"nodeSelector": {}, "containers": [{"name": "c", "resources": {"limits": {GPU: 2}}}]},
}
SHARED_AND_WHOLE = (
    Node("shared", {STRATEGY: "mps", CARD_MEMORY: "40960", REPLICAS: "4"}, (), {GPU: 4}),
    Node("whole", {STRATEGY: "none", CARD_MEMORY: "16384", REPLICAS: "1"}, (), {GPU: 4}),
    Node("small", {STRATEGY: "none", CARD_MEMORY: "4096", REPLICAS: "1"}, (), {GPU: 4}),
)


@given(asking_pods(replicas=2), clusters())
@example(PLAIN, SHARED_AND_WHOLE)
def test_steered_pod_selects_whole_cards_that_fit(pod: Json, nodes: tuple[Node, ...]) -> None:
    verdict = verdict_of(pod, nodes, steering=True)
    if verdict.decision is Decision.DENIED or about_annotation(verdict):
        return
    mutated = mutated_by(verdict, pod)
    fits = fitting(pod, nodes)
    wanted = [node for node in selected(pod, nodes) if node in fits]
    is_steered = not any(name == "steering" for name, _ in verdict.withheld)
    whole = [node for node in wanted if node.labels.get(STRATEGY) != "mps" and node.labels.get(CAPABLE) != "true"]
    if any(map(hides_its_class, nodes)):
        whole = [node for node in whole if node.labels.get(STRATEGY) == "none"]
    assert selected(mutated, nodes) == (whole if is_steered else wanted)


def hides_its_class(node: Node) -> bool:
    """Whether a node with GPUs has no label that shows whether it shares its cards, or how."""
    if GPU not in node.resources or STRATEGY in node.labels or CAPABLE in node.labels:
        return False
    return int(node.labels.get(REPLICAS, 0)) > 1 or node.labels.keys().isdisjoint({CARD_MEMORY, REPLICAS})


def labelled(name: str, memory: str, replicas: str, **labels: str) -> Node:
    return Node(name, {STRATEGY: "mps", CARD_MEMORY: memory, REPLICAS: replicas} | labels, (), {GPU: 4})


def asking(size: object, **spec: Any) -> Json:
    container = {"name": "c", "resources": {"limits": {GPU: 1}}}
    return {"metadata": {"annotations": {ANNOTATION: size}}, "spec": {"containers": [container], **spec}}


def requiring(*terms: Json) -> Json:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": required}


def value(key: str, *values: str, operator: str = "In") -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [
        ("6Gi", 6144),
        ("6144Mi", 6144),
        ("6291456Ki", 6144),
        ("1e9", 954),
        ("1500M", 1431),
        ("1", 1),
        ("1m", 1),
        ("1048576", 1),
        ("1048577", 2),
        ("512Ti", 512 * 2**20),
        (" 1Gi ", 1024),
    ],
)
def test_size_is_rounded_up_to_mebibytes(text: str, mebibytes: int) -> None:
    assert mebibytes_of(text) == mebibytes


@pytest.mark.parametrize("text", ["6Gi\n", "\n6Gi", "6Gi\r\n", "6Gi\u2028", "6Gi\x85", "6Gi\xa0"])
def test_size_with_line_break_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="memory size"):
        mebibytes_of(text)


@pytest.mark.parametrize("text", ["0", "-1Gi", "", "6GB", "6 Gi", "x", "513Ti", "1E", "1e40", "9" * 5000, None, 6, {}])
def test_size_without_meaning_is_rejected(text: object) -> None:
    with pytest.raises(ValueError, match="memory size"):
        mebibytes_of(text)


@pytest.mark.parametrize(
    ("text", "denied"), [("4Gi", False), ("4096Mi", False), ("4097Mi", True), ("4294967297", True)]
)
def test_size_at_the_share_fits_and_above_does_not(text: str, denied: bool) -> None:
    """A quarter of 16,385 MiB is 4,096 MiB: the plugin rounds down."""
    verdict = verdict_of(asking(text), (labelled("n", "16385", "4"),))
    assert (verdict.decision is Decision.DENIED) is denied


def limits_of(pod: Json) -> list[str]:
    return [
        entry["value"]
        for container in pod["spec"]["containers"]
        for entry in container.get("env", [])
        if entry["name"] == PINNED
    ]


def test_pinned_limit_is_the_size_in_each_container_that_asks() -> None:
    pod = asking("1500M")
    own = {"name": PINNED, "value": "0=1G"}
    pod["spec"]["containers"] += [
        {"name": "d", "resources": {"limits": {GPU: 1}}},
        {"name": "e", "resources": {"limits": {GPU: 1}}, "env": [own]},
        {"name": "f"},
    ]
    verdict = verdict_of(pod, (labelled("n", "16384", "4"),))
    mutated = mutated_by(verdict, pod)
    assert limits_of(mutated) == ["0=1431M", "0=1431M", "0=1G"]


def exact_terms(size: str, nodes: tuple[Node, ...], **spec: Any) -> list[Json]:
    pod = asking(size, **spec)
    return scheduler.terms_of(mutated_by(verdict_of(pod, nodes), pod)) or []


def test_no_combination_of_selected_labels_is_too_small() -> None:
    """Fewest terms: two of the three combinations of one term are known, and the third would be too small."""
    nodes = (labelled("a", "40960", "4"), labelled("b", "81920", "8"), labelled("c", "81920", "4"))
    terms = exact_terms("10Gi", nodes)
    assert [[one["values"] for one in term["matchExpressions"]] for term in terms] == [
        [["81920"], ["4", "8"]],
        [["40960"], ["4"]],
    ]


def test_affinity_separates_known_nodes_where_exact_terms_are_too_many() -> None:
    nodes = (labelled("a", "40960", "4"), labelled("b", "81920", "8"))
    own = [value("pool", str(number), operator="NotIn") for number in range(MOST_TERMS)]
    terms = exact_terms("10Gi", nodes, affinity=requiring(*own))
    assert len(terms) == MOST_TERMS
    assert all(
        [one["values"] for one in term["matchExpressions"][1:]] == [["40960", "81920"], ["4", "8"]] for term in terms
    )


def test_term_that_requires_the_size_is_left_alone() -> None:
    nodes = (labelled("a", "40960", "4"), labelled("b", "16384", "4"))
    enough, open_term = value(CARD_MEMORY, "40960", "81920"), value("pool", "a", operator="NotIn")
    terms = exact_terms("6Gi", nodes, affinity=requiring(enough, open_term))
    assert terms[0] == enough
    assert len(terms[1]["matchExpressions"]) == 3


def test_more_than_the_most_own_terms_are_rejected() -> None:
    own = [value("pool", str(number), operator="NotIn") for number in range(MOST_TERMS + 1)]
    verdict = verdict_of(asking("1Gi", affinity=requiring(*own)), (labelled("n", "16384", "4"),))
    assert "more than 16 terms" in about_annotation(verdict)[0].message


def test_long_terms_are_not_copied() -> None:
    nodes = (labelled("a", "40960", "4"), labelled("b", "16384", "1"), labelled("c", "16384", "4"))
    long = value("pool", *(f"v{number}" for number in range(2000)), operator="NotIn")
    verdict = verdict_of(asking("6Gi", affinity=requiring(long)), nodes)
    assert "copies of long ones" in about_annotation(verdict)[0].message
    without = verdict_of(asking("6Gi", affinity=requiring(long)), nodes[::2])
    assert about_annotation(without) == []


def test_affinity_that_is_not_analysed_is_rejected() -> None:
    own = value("pool", *(f"v{number}" for number in range(ANALYSED)), operator="NotIn")
    verdict = verdict_of(asking("1Gi", affinity=requiring(own)), (labelled("n", "16384", "4"),))
    assert [finding.severity for finding in about_annotation(verdict)] == [Severity.DENY]


@pytest.mark.parametrize("labels", [(CARD_MEMORY, 16384), (CARD_COUNT, 1)], ids=["memory", "cards"])
def test_too_many_kinds_of_nodes_only_warn(labels: tuple[str, int]) -> None:
    key, first = labels
    nodes = tuple(
        labelled(f"n{number}", "16384", "4", **{key: str(first + number)}) for number in range(MOST_KINDS + 1)
    )
    verdict = verdict_of(asking("40Gi"), nodes)
    assert [finding.severity for finding in about_annotation(verdict)] == [Severity.WARN]
    assert "too many combinations" in about_annotation(verdict)[0].message
    assert scheduler.terms_of(mutated_by(verdict, asking("40Gi"))) is None
    assert [one.severity for one in about_annotation(verdict_of(asking("40Gi"), nodes[1:]))] == [Severity.DENY]


@pytest.mark.parametrize(("others", "codes"), [(1, set()), (MOST_EDITS, {"GPS001"})])
def test_pod_with_too_many_edits_is_checked_without_the_affinity(others: int, codes: set[str]) -> None:
    """Only whole cards are large enough. Without the affinity, two replicas could land on a shared card."""
    pod = asking("6Gi")
    pod["spec"]["containers"][0]["resources"]["limits"][GPU] = 2
    pod["spec"]["containers"] += [{"name": f"o{number}"} for number in range(others)]
    injections = replace(settings().injections, void_devices=VoidDevicesInjection(True))
    nodes = (labelled("shared", "16384", "4"), Node("whole", {CARD_MEMORY: "16384", REPLICAS: "1"}, (), {GPU: 4}))
    evaluator = Evaluator.of(Settings(injections=injections), Facts(nodes=nodes))
    verdict = evaluator.evaluate(pod, "", "Pod", Origin("default", hostpath=True, groups=()))
    assert verdict.too_many_edits is bool(codes)
    assert {finding.code for finding in verdict.findings} & {"GPS001"} == codes


def test_node_whose_plugin_is_not_running_keeps_its_share() -> None:
    restarting = Node("n", {STRATEGY: "mps", CARD_MEMORY: "40960", REPLICAS: "4"}, (), {GPU: 0})
    assert about_annotation(verdict_of(asking("10Gi"), (restarting, labelled("b", "16384", "4")))) == []


def test_resource_of_device_class_is_not_rejected() -> None:
    facts = Facts(nodes=(labelled("n", "16384", "4"),), device_classes=(DeviceClass("gpu", GPU),))
    verdict = Evaluator.of(settings(), facts).evaluate(asking("40Gi"), "", "Pod", Origin("default", groups=()))
    assert [finding.severity for finding in about_annotation(verdict)] == [Severity.WARN]


def test_warn_mode_leaves_pod_without_unmet_size() -> None:
    evaluator = Evaluator.of(replace(settings(), mode="warn"), Facts(nodes=(labelled("n", "16384", "4"),)))
    verdict = evaluator.evaluate(asking("40Gi"), "", "Pod", Origin("default", hostpath=True, groups=()))
    assert verdict.decision is Decision.WARNED
    mutated = mutated_by(verdict, asking("40Gi"))
    assert limits_of(mutated) == []
    assert scheduler.terms_of(mutated) is None


@pytest.mark.parametrize(
    ("replicas", "counts"), [("1", True), ("10", True), ("0", False), ("abc", False), (None, False)]
)
def test_label_counts_replicas_only_from_1_up(replicas: str | None, counts: bool) -> None:
    assert CardLabels("24000", replicas).counts_replicas is counts
