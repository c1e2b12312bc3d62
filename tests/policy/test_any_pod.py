"""What holds for any pod that the Pod schema allows, whatever the settings and facts."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import jsonpatch
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pointers import exists
from tests.strategies.configurations import EVALUATORS, NAMESPACE, ORIGINS, configurations, origins
from tests.strategies.pods import pods
from webhook.patch import Operation, build, pointer, verify
from webhook.policy.context import RequestContext
from webhook.policy.injections.pipe_mount import SAFE_TO_EVICT
from webhook.policy.verdict import Verdict

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A pod's verdict, the operations of its edits, and the pod that `jsonpatch` makes of them."""

    verdict: Verdict
    operations: list[Operation]
    pod: Json


def mutate(pod: Json, configuration: Key, origin: RequestContext) -> Mutation:
    evaluator = EVALUATORS[configuration]
    received = deepcopy(pod)
    verdict = evaluator.evaluate(pod, "", "Pod", origin)
    operations = build(pod, verdict.edits)
    assert pod == received
    assert verify(pod, operations) is None
    return Mutation(verdict, operations, jsonpatch.apply_patch(pod, operations))


def said(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    return [(one.code, one.severity.label, pointer(one.path), one.message) for one in verdict.findings]


SEVERITIES = ["audit", "warn", "deny"]
MEMBERS = {"annotations", "runtimeClassName", "tolerations", "volumes", "affinity", "env", "volumeMounts"}


@given(pods(), configurations, origins)
def test_findings_are_ordered_short_and_have_existing_paths(pod: Json, configuration: Key, origin: str) -> None:
    verdict = mutate(pod, configuration, ORIGINS[origin]).verdict
    assert [found.code for found in verdict.findings] == sorted(found.code for found in verdict.findings)
    for found in verdict.findings:
        assert exists(pod, pointer(found.path))
        assert len(f"{found.code} {found.message}") <= 120
        assert found.message.isprintable()
    gravest = max((found.severity.label for found in verdict.findings), key=SEVERITIES.index, default="")
    assert verdict.decision.label == {"deny": "denied", "warn": "warned"}.get(gravest, "allowed")


@given(pods(), configurations, origins)
def test_mutation_only_adds_known_members(pod: Json, configuration: Key, origin: str) -> None:
    mutation = mutate(pod, configuration, ORIGINS[origin])
    assert_grown(pod, mutation.pod, ())
    for operation in mutation.operations:
        assert operation["op"] == "add"
        assert operation.keys() == {"op", "path", "value"}
        steps = operation["path"].split("/")[1:]
        assert MEMBERS & set(steps) or steps == ["metadata"]


def assert_grown(before: Any, after: Any, path: tuple[str | int, ...]) -> None:
    """All of the one value is in the other: members stay, lists grow at their end, one annotation's text too."""
    if before is None:
        return
    if isinstance(before, dict):
        assert isinstance(after, dict)
        for key, value in before.items():
            assert_grown(value, after[key], (*path, key))
    elif isinstance(before, list):
        assert isinstance(after, list)
        for index, value in enumerate(before):
            assert_grown(value, after[index], (*path, index))
    elif path == ("metadata", "annotations", SAFE_TO_EVICT):
        assert after == before or after.startswith(f"{before}," if before else "gpushare-mps-")
    else:
        assert after == before
        assert type(after) is type(before)


@given(pods(), configurations, origins)
def test_mutation_is_idempotent(pod: Json, configuration: Key, origin: str) -> None:
    once = mutate(pod, configuration, ORIGINS[origin])
    assert mutate(once.pod, configuration, ORIGINS[origin]).operations == []


LIMITED: Json = {
    "metadata": {"annotations": {"gpushare-webhook/active-thread-percentage": "50"}},
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
}
TWO_REPLICAS: Json = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}
TWO_RESOURCES: Json = {
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpu.shared": 1}}}]}
}


@given(pods(), configurations, origins)
@example(LIMITED, ("defaults", "shared"), "mutate")
@example(TWO_RESOURCES, ("lenient", "unknown"), "mutate")
@example(TWO_REPLICAS, ("steering", "unknown"), "mutate")
@example(TWO_REPLICAS, ("steering", "mixed"), "mutate")
def test_findings_are_equal_before_and_after_mutation(pod: Json, configuration: Key, origin: str) -> None:
    once = mutate(pod, configuration, ORIGINS[origin])
    assert said(mutate(once.pod, configuration, ORIGINS[origin]).verdict) == said(once.verdict)


@given(pods(), configurations, origins, st.randoms(use_true_random=False))
def test_container_order_does_not_matter(pod: Json, configuration: Key, origin: str, random: Any) -> None:
    shuffled = deepcopy(pod)
    random.shuffle(shuffled["spec"]["containers"])
    one, other = mutate(pod, configuration, ORIGINS[origin]), mutate(shuffled, configuration, ORIGINS[origin])
    assert {found.code for found in one.verdict.findings} == {found.code for found in other.verdict.findings}
    assert one.verdict.decision == other.verdict.decision
    assert added_by_container(pod, one.pod) == added_by_container(shuffled, other.pod)


def added_by_container(before: Json, after: Json) -> dict[str, Any]:
    """What each container gained, by its name."""
    return {
        new["name"]: [gained(old, new, field) for field in ("env", "volumeMounts")]
        for old, new in zip(before["spec"]["containers"], after["spec"]["containers"], strict=True)
        if new != old
    }


@given(pods(), configurations, origins)
def test_added_variables_are_new_and_mounts_have_volumes(pod: Json, configuration: Key, origin: str) -> None:
    mutated = mutate(pod, configuration, ORIGINS[origin]).pod
    for field in ("initContainers", "containers"):
        for old, new in zip(pod["spec"].get(field) or [], mutated["spec"].get(field) or [], strict=True):
            before = {entry.get("name") for entry in old.get("env") or []}
            names = [entry["name"] for entry in gained(old, new, "env")]
            assert len(set(names)) == len(names)
            assert not before & set(names)
            for mount in gained(old, new, "volumeMounts"):
                named = [volume for volume in mutated["spec"]["volumes"] if volume.get("name") == mount["name"]]
                assert named[0]["hostPath"]["path"]


def gained(old: Json, new: Json, field: str) -> list[Json]:
    """What a list of a container has more than before."""
    more: list[Json] = (new.get(field) or [])[len(old.get(field) or []) :]
    return more


@given(pods(), configurations)
def test_mutated_pod_misses_no_edits_at_validate(pod: Json, configuration: Key) -> None:
    mutated = mutate(pod, configuration, ORIGINS["without hostPath"])
    if mutated.verdict.decision.label == "denied":
        return
    arrived = mutate(
        mutated.pod, configuration, RequestContext(NAMESPACE, is_final_hook=True, groups=("system:authenticated",))
    )
    assert "GPS019" not in {found.code for found in arrived.verdict.findings}
    assert arrived.verdict.decision.label != "denied"
