"""Findings, edits, pods and analysed selectors are bounded, whatever an object holds; counts stay complete."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.heap import frozen_heap
from tests.hostile import GPU, SHAPES, container, each, pod, required
from webhook.admission import Hook, respond
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.selector import ANALYSED, requirement
from webhook.policy.pods.pod import Pod
from webhook.policy.settings.elements import NamespaceRule, WorkloadPath
from webhook.policy.settings.settings import Injections, Settings, SteeringInjection, TolerationInjection, Workloads
from webhook.policy.verdict import KEPT_PER_CODE, MOST_EDITS, UNTOUCHED, Decision, Severity, Verdict

pytestmark = pytest.mark.slow

Json = dict[str, Any]

DEFAULTS = OfflineEvaluator.of(Settings())
GROUPS = OfflineEvaluator.of(
    Settings(workloads=Workloads(paths=(WorkloadPath("Group", "spec.pods[*]", "example.com"),)))
)
"""Knows a custom kind that holds a list of pods."""

STEERING = OfflineEvaluator.of(Settings(injections=Injections(steering=SteeringInjection(True))))


def decided(manifest: Json, evaluator: OfflineEvaluator = DEFAULTS, origin: RequestContext | None = None) -> Verdict:
    return evaluator.evaluate(manifest, "", "Pod", origin or RequestContext("team-a"))


def two(number: int) -> Json:
    return {**container(number), "resources": {"limits": {GPU: "2"}}}


def test_findings_per_code_are_limited_and_counted() -> None:
    verdict = decided(pod(containers=each(KEPT_PER_CODE + 5, two)))
    assert sum(found.code == "GPS001" for found in verdict.findings) == KEPT_PER_CODE
    assert verdict.counts["GPS001", Severity.DENY] == KEPT_PER_CODE + 5
    assert verdict.omitted() == {"GPS001": 5}


def test_findings_within_the_limit_are_all_kept() -> None:
    verdict = decided(pod(containers=each(KEPT_PER_CODE, two)))
    assert verdict.counts["GPS001", Severity.DENY] == KEPT_PER_CODE
    assert verdict.omitted() == {}


def test_findings_of_many_pods_in_one_object_share_the_limit() -> None:
    manifest = {"spec": {"pods": [{"spec": {"containers": [two(0)]}} for _ in range(KEPT_PER_CODE + 1)]}}
    verdict = GROUPS.evaluate(manifest, "example.com", "Group", RequestContext("team-a"))
    assert verdict.omitted() == {"GPS001": 1}
    assert [found.code for found in verdict.findings] == ["GPS001"] * KEPT_PER_CODE


def asking_once(count: int) -> Json:
    """A pod in which each of `count` init containers needs two edits, and no limit is exceeded."""
    return pod(initContainers=each(count, container), containers=[{"name": "c"}], tolerations=[{"operator": "Exists"}])


def test_edits_up_to_the_limit_are_made() -> None:
    needed = 3 + 2  # runtime class, volume and annotation; the variable and the mount of the last container
    verdict = decided(asking_once((MOST_EDITS - needed) // 2 + 1))
    assert not verdict.too_many_edits
    assert MOST_EDITS - 2 <= len(verdict.edits) <= MOST_EDITS


def test_too_many_edits_without_findings_are_still_reported() -> None:
    verdict = decided(asking_once(MOST_EDITS))
    assert verdict == Verdict(Decision.ALLOWED, (), (), {}, True, withheld=verdict.withheld)


def test_unmutated_pod_with_too_many_missing_edits_is_reported() -> None:
    origin = RequestContext("team-a", is_final_hook=True, hostpath=True, groups=())
    (found,) = [one for one in decided(asking_once(MOST_EDITS), origin=origin).findings if one.code == "GPS019"]
    assert found.message.endswith(f"missing edits: more than {MOST_EDITS}")


def test_pod_with_too_many_edits_is_not_steered_past_the_limit() -> None:
    terms = each(MOST_EDITS, lambda n: {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"}]})
    assert decided(pod(containers=[two(0)], affinity=required(terms[:9])), STEERING).decision is Decision.ALLOWED
    verdict = decided(pod(containers=[two(0)], affinity=required(terms[: MOST_EDITS // 2 + 1])), STEERING)
    assert verdict.too_many_edits
    assert verdict.decision is Decision.DENIED
    assert "GPS001" in {found.code for found in verdict.findings}


def test_pod_without_findings_and_edits_is_untouched() -> None:
    assert decided({"spec": {"containers": [{"name": "c"}]}}) is UNTOUCHED


def away_from_mps(more: int) -> Json:
    """A pod that asks for two and excludes MPS nodes, and names `more` values of another label."""
    expressions = [
        {"key": "nvidia.com/mps.capable", "operator": "NotIn", "values": ["true"]},
        {"key": "pool", "operator": "NotIn", "values": [f"v{number}" for number in range(more)]},
    ]
    return pod(containers=[two(0)], affinity=required([{"matchExpressions": expressions}]))


def test_affinity_larger_than_analysed_relaxes_no_rejection() -> None:
    assert decided(away_from_mps(ANALYSED - 3)).decision is Decision.ALLOWED
    assert decided(away_from_mps(ANALYSED - 2)).decision is Decision.DENIED


def test_unanalysed_affinity_ignores_known_whole_card_nodes() -> None:
    """The nodes that the rest of the pod admits need not satisfy the affinity: here it wants MPS nodes."""
    node = Node("whole", {"nvidia.com/gpu.sharing-strategy": "none"}, (), {GPU: 4})
    evaluator = OfflineEvaluator.of(Settings(), Facts(nodes=(node,)))
    values = ["true", *(f"v{number}" for number in range(ANALYSED))]
    expressions = [{"key": "nvidia.com/mps.capable", "operator": "In", "values": values}]
    manifest = pod(containers=[two(0)], affinity=required([{"matchExpressions": expressions}]))
    assert decided(manifest, evaluator).decision is Decision.DENIED
    expressions[0]["values"] = ["true"]
    assert decided(manifest, evaluator).decision is Decision.DENIED


def test_node_selector_counts_next_to_unanalysed_affinity() -> None:
    manifest = away_from_mps(ANALYSED)
    manifest["spec"]["nodeSelector"] = {"nvidia.com/mps.capable": "false"}
    wanted = requirement(Pod.of_template(manifest))
    assert wanted is not None
    assert wanted.terms is None
    assert decided(manifest).decision is Decision.ALLOWED


@pytest.mark.parametrize("namespace", ["x" * 64, "UPPER", "-a", "a-", "a_b", "a/b", "", "a\n"])
def test_rules_of_invalid_namespace_are_not_cached(namespace: str) -> None:
    evaluator = OfflineEvaluator.of(Settings())
    assert evaluator.snapshot.of(namespace) is not evaluator.snapshot.of(namespace)


def test_rules_of_valid_namespace_are_cached() -> None:
    for namespace in ("a", "x" * 63, "team-a", "0"):
        assert DEFAULTS.snapshot.of(namespace) is DEFAULTS.snapshot.of(namespace)


def test_exemption_and_namespace_rule_apply_to_any_name() -> None:
    evaluator = OfflineEvaluator.of(Settings(namespaces=(NamespaceRule(("UPPER",), mode="audit"),)))
    assert evaluator.snapshot.of("UPPER").severities["GPS001"] is Severity.AUDIT
    assert evaluator.snapshot.of("kube-system").exemption


def test_taints_of_nodes_are_tolerated_once_each() -> None:
    taint = Taint("example.com/gpu", "NoSchedule", "a")
    nodes = tuple(Node(f"n{number}", {}, (taint,), {GPU: 1}) for number in range(3))
    settings = Settings(injections=Injections(tolerations=TolerationInjection(from_nodes=("example.com/*",))))
    evaluator = OfflineEvaluator.of(settings, Facts(nodes=nodes))
    added = [edit.value for edit in decided(pod(), evaluator).edits if edit.path[-1] == "tolerations"]
    assert added[1:] == [{"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.VALIDATE])
@pytest.mark.parametrize("name", SHAPES)
def test_review_leaves_no_reference_cycle(name: str, hook: Hook) -> None:
    """A cycle would keep a review of many megabytes until the garbage collector comes."""
    body = SHAPES[name].review(3)
    respond(body, hook, DEFAULTS).body()
    with frozen_heap():
        respond(body, hook, DEFAULTS).body()
        assert gc.collect() == 0
