"""Steering: a pod over the limit is led to whole cards, and nothing is promised that the last hook would refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonpatch
from hypothesis import example, given
from hypothesis import strategies as st

from tests import scheduler
from tests.strategies.selecting import GPU, POOL, clusters, selecting_pods
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.patch import build
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.placement.node_classes import CAPABLE, STRATEGY
from webhook.policy.verdict import Decision, Verdict
from webhook.settings.load import load

Json = dict[str, Any]

LABELS = {"gke": {"cloud.google.com/gke-gpu-sharing-strategy": "mps"}, "none": {}}


def settings(labels: Json | None) -> Json:
    placement = {} if labels is None else {"placement": {"mpsLabels": labels}}
    injections = {"tolerations": {"enabled": False}, "steering": {"enabled": True}}
    return {"injections": injections, **placement}


def nowhere(path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


def verdict_of(pod: Json, nodes: tuple[Node, ...] | None, labels: Json | None, *, is_final_hook: bool) -> Verdict:
    facts = UNKNOWN if nodes is None else Facts(nodes=nodes)
    evaluator = OfflineEvaluator.of(load(settings(labels), nowhere, "settings").settings, facts)
    origin = RequestContext("default", is_final_hook=is_final_hook, hostpath=None if is_final_hook else True, groups=())
    return evaluator.evaluate(pod, "", "Pod", origin)


def said(verdict: Verdict) -> list[tuple[Any, ...]]:
    return [(one.code, one.severity, one.path, one.message, one.remedy) for one in verdict.findings]


some_clusters = st.none() | clusters()
some_labels = st.sampled_from([None, None, *LABELS.values()])


@given(selecting_pods(names=True), some_clusters, some_labels)
def test_pod_allowed_by_mutate_is_allowed_by_validate_with_the_same_findings(
    pod: Json, nodes: tuple[Node, ...] | None, labels: Json | None
) -> None:
    first = verdict_of(pod, nodes, labels, is_final_hook=False)
    if first.decision is Decision.DENIED:
        return
    mutated = jsonpatch.apply_patch(pod, build(pod, first.edits))
    last = verdict_of(mutated, nodes, labels, is_final_hook=True)
    assert last.decision is not Decision.DENIED
    assert said(last) == said(first)
    assert verdict_of(mutated, nodes, labels, is_final_hook=False).edits == ()


TWO_REPLICAS: Json = {
    "spec": {"containers": [{"name": "main", "resources": {"limits": {GPU.name: 2}}}], "nodeSelector": {}}
}
WHOLE = Node("n0", {STRATEGY: "none", CAPABLE: "false"}, (), {GPU.name: 4})
UNDISCOVERED = Node("n1", {}, (), {GPU.name: 4})


@given(selecting_pods(names=True), clusters())
@example(TWO_REPLICAS, (WHOLE, UNDISCOVERED))
def test_steered_pod_avoids_nodes_that_share_or_may_share(pod: Json, nodes: tuple[Node, ...]) -> None:
    """Where a node has GPUs and no label that shows how it shares them, only the label of whole cards counts."""
    first = verdict_of(pod, nodes, None, is_final_hook=False)
    mutated = jsonpatch.apply_patch(pod, build(pod, first.edits))
    if not is_steered(first):
        return
    assert first.decision is not Decision.DENIED
    landing = [node for node in nodes if scheduler.admits(mutated, node)]
    all_discovered = all(GPU.name not in node.resources or node.labels.keys() - {POOL} for node in nodes)
    whole = [
        node
        for node in nodes
        if has_whole_cards(node.labels) and (all_discovered or node.labels.get(STRATEGY) == "none")
    ]
    assert landing == [node for node in whole if scheduler.admits(pod, node)]


@given(selecting_pods())
def test_steered_pod_keeps_other_nodes(pod: Json) -> None:
    first = verdict_of(pod, None, None, is_final_hook=False)
    mutated = jsonpatch.apply_patch(pod, build(pod, first.edits))
    if not is_steered(first):
        return
    for strategy in (None, "none", "mps", "time-slicing"):
        for extra in ({}, {"pool": "a"}, {"pool": "1"}, {"nvidia.com/gpu.replicas": "2"}, {CAPABLE: "true"}):
            labels = extra | ({} if strategy is None else {STRATEGY: strategy})
            kept = scheduler.selects(pod, labels, "n") and has_whole_cards(labels)
            assert scheduler.selects(mutated, labels, "n") is kept


def has_whole_cards(labels: Mapping[str, str]) -> bool:
    return labels.get(STRATEGY) not in ("mps", "time-slicing") and labels.get(CAPABLE) != "true"


def is_steered(verdict: Verdict) -> bool:
    return any("affinity" in edit.path for edit in verdict.edits)
