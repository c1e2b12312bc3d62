"""Memory size: the pod selects the nodes that it selected before and that give it the memory, and no others."""

from __future__ import annotations

from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from tests import scheduler
from tests.strategies.selecting import by_name
from webhook.patch import build, verify
from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator
from webhook.policy.memory_size import ANNOTATION, MOST_TERMS, written
from webhook.policy.placement.facts import UNKNOWN, Facts, Node
from webhook.policy.placement.memory_shares import CARD_MEMORY
from webhook.policy.placement.node_classes import CAPABLE, REPLICAS, STRATEGY
from webhook.policy.settings.injections import Injections, MemoryInjection, SteeringInjection, TolerationInjection
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Decision, Finding, Severity, Verdict

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
    assert again.findings == first.findings
    final = verdict_of(mutated, nodes, steering=steering, final=True)
    assert final.findings == first.findings


@given(asking_pods(replicas=2), clusters())
def test_steered_pod_selects_whole_cards_that_fit(pod: Json, nodes: tuple[Node, ...]) -> None:
    verdict = verdict_of(pod, nodes, steering=True)
    if verdict.decision is Decision.DENIED or about_annotation(verdict):
        return
    mutated = mutated_by(verdict, pod)
    fits = fitting(pod, nodes)
    wanted = [node for node in selected(pod, nodes) if node in fits]
    is_steered = not any(name == "steering" for name, _ in verdict.withheld)
    whole = [node for node in wanted if node.labels.get(STRATEGY) != "mps" and node.labels.get(CAPABLE) != "true"]
    assert selected(mutated, nodes) == (whole if is_steered else wanted)
