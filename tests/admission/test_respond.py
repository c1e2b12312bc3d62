"""Which requests are checked, which are left alone, and what an answer contains."""

from __future__ import annotations

import gc
import json
import sys
from time import thread_time
from typing import Any

import pytest

from tests.apiserver import receive
from tests.recorded import body
from tests.remedies import ASK_FOR_ONE, SPLIT_THE_POD
from webhook.admission import BadReviewError, Hook, Outcome, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]

EVALUATOR = Evaluator.of(Settings())


def answer(review: Json, hook: Hook, evaluator: Evaluator = EVALUATOR) -> Outcome:
    return respond(json.dumps(review).encode(), hook, evaluator)


def recorded(name: str, /, **changes: Any) -> Json:
    """A recorded review with other members of its request."""
    review: Json = json.loads(body(name))
    review["request"] |= changes
    return review


every_hook = pytest.mark.parametrize("hook", list(Hook), ids=lambda hook: hook.path)


SUBRESOURCES = ("status", "ephemeralcontainers", "resize", "binding", "eviction", "scale")


@every_hook
@pytest.mark.parametrize(
    "changes",
    [
        *({"operation": operation, "object": None} for operation in ("DELETE", "CONNECT", "", "OTHER")),
        *({"subResource": subresource} for subresource in SUBRESOURCES),
        {"subResource": "eviction", "object": None},
        *({"kind": {"version": "v1", "kind": kind}} for kind in ("Node", "ConfigMap")),
        {"kind": {"version": "v1", "kind": "Pod", "group": "metrics.k8s.io"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["create-pod-two-replicas", "create-statefulset-cache"])
def test_other_requests_pass(name: str, changes: Json, hook: Hook) -> None:
    review = recorded(name)
    review["request"] |= {"oldObject": review["request"]["object"]} if "operation" in changes else {}
    review["request"] |= changes
    assert_untouched(answer(review, hook))


GATED = {"schedulingGates": [{"name": "example.com/queue"}]}
SEES_ALL = {"name": "debug", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}


def update(name: str, before: Json, after: Json, **changes: Any) -> Json:
    """The review of an update of a recorded pod, whose specs before and after it have these members too."""
    pod = json.loads(body(name))["request"]["object"]
    old, new = ({**pod, "spec": {**pod["spec"], **members}} for members in (before, after))
    return recorded(name, operation="UPDATE", oldObject=old, object=new, **changes)


@every_hook
@pytest.mark.parametrize("subresource", ["status", "resize", "binding", "eviction", "exec", "proxy"])
def test_other_pod_subresources_are_never_checked(subresource: str, hook: Hook) -> None:
    review = update("create-pod-two-replicas", GATED, {"ephemeralContainers": [SEES_ALL]}, subResource=subresource)
    assert_untouched(answer(review, hook))


@pytest.mark.parametrize("hook", [hook for hook in Hook if hook.mutates], ids=lambda hook: hook.path)
@pytest.mark.parametrize("subresource", ["", "ephemeralcontainers"])
def test_mutating_hook_ignores_ungating_and_ephemeral_containers(subresource: str, hook: Hook) -> None:
    review = update("create-pod-two-replicas", GATED, {"ephemeralContainers": [SEES_ALL]}, subResource=subresource)
    assert_untouched(answer(review, hook))


def test_ungating_mutated_pod_has_no_finding() -> None:
    pod = json.loads(body("create-pod-vectoradd"))["request"]["object"]
    gated = {**pod, "spec": {**pod["spec"], **GATED}}
    created = recorded("create-pod-vectoradd", object=gated)
    before = receive(answer(created, Hook.MUTATE).body(), created["request"], mutating=True).object
    after = {**before, "spec": {key: value for key, value in before["spec"].items() if key not in GATED}}
    assert_untouched(
        answer(recorded("create-pod-vectoradd", operation="UPDATE", oldObject=before, object=after), Hook.VALIDATE)
    )


def debugged(count: int) -> Json:
    """The review that adds one container with all GPUs to a pod that has `count` ephemeral containers like it."""
    there = [{**SEES_ALL, "name": f"debug-{number}"} for number in range(count)]
    members = {"ephemeralContainers": there}, {"ephemeralContainers": [*there, SEES_ALL]}
    return update("create-pod-vectoradd", *members, subResource="ephemeralcontainers")


def test_added_ephemeral_container_among_thousands() -> None:
    outcome = answer(debugged(10_000), Hook.VALIDATE)
    assert [found.path[:3] for found in outcome.verdict.findings] == [("spec", "ephemeralContainers", 10_000)]


@pytest.mark.slow
def test_ephemeral_containers_are_compared_in_linear_time() -> None:
    few, many = (json.dumps(debugged(count)).encode() for count in (2_000, 16_000))

    def seconds(review: bytes) -> float:
        """The least CPU time of several runs, without what the collector takes for all other objects of the tests."""
        taken = []
        gc.disable()
        for _ in range(5):
            start = thread_time()
            respond(review, Hook.VALIDATE, EVALUATOR)
            taken.append(thread_time() - start)
        gc.enable()
        return min(taken)

    assert seconds(many) < 24 * seconds(few), "8 times as many; compared pairwise they would take 64 times as long"


def assert_untouched(outcome: Outcome) -> None:
    assert outcome.allowed
    assert outcome.operations == []
    response = json.loads(outcome.body())["response"]
    assert response == {"uid": outcome.request.uid, "allowed": True}


def test_deny_in_mutate_off_patches_and_validate_denies() -> None:
    later = Evaluator.of(Settings(deny_in_mutate=False))
    review = recorded("create-pod-two-replicas")
    mutated = answer(review, Hook.MUTATE, later)
    assert mutated.allowed
    assert mutated.operations
    assert mutated.verdict.decision.label == "denied"
    arrived = recorded(
        "create-pod-two-replicas", object=receive(mutated.body(), review["request"], mutating=True).object
    )
    assert not answer(arrived, Hook.VALIDATE, later).allowed


def test_mutated_pod_passes_validate_silently() -> None:
    review = recorded("create-pod-vectoradd")
    patched = receive(answer(review, Hook.MUTATE).body(), review["request"], mutating=True).object
    arrived = answer(recorded("create-pod-vectoradd", object=patched), Hook.VALIDATE)
    assert json.loads(arrived.body())["response"] == {"uid": arrived.request.uid, "allowed": True}


A_ASKS_FOR_TWO = 'container "a" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS'


def test_denial_has_one_line_per_finding() -> None:
    container = {"name": "a", "resources": {"limits": {"nvidia.com/gpu": 2}}}
    other = {"name": "b", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    pod = {"metadata": {}, "spec": {"hostPID": True, "containers": [container, other]}}
    response = json.loads(answer(recorded("create-pod-vectoradd", object=pod), Hook.MUTATE).body())["response"]
    assert response["allowed"] is False
    assert response["status"].pop("details") == {
        "causes": [
            {
                "reason": "GPS001",
                "message": A_ASKS_FOR_TWO,
                "field": 'spec.containers[0].resources.limits["nvidia.com/gpu"]',
            },
            {
                "reason": "GPS002",
                "message": "the pod asks for 2 replicas as a whole; the limit is 1 where GPUs are shared through MPS",
                "field": 'spec.containers[1].resources.limits["nvidia.com/gpu"]',
            },
        ]
    }
    assert response["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": f"GPS001 {A_ASKS_FOR_TWO}; {ASK_FOR_ONE}\n"
        "GPS002 the pod asks for 2 replicas as a whole; the limit is 1 where GPUs are shared through MPS; "
        + SPLIT_THE_POD
        + "\ngpushare-webhook explain GPS001",
    }
    assert [warning[:6] for warning in response["warnings"]] == ["GPS009"]
    assert response["auditAnnotations"] == {"findings": "GPS001=deny,GPS002=deny,GPS009=warn"}
    assert "patch" not in response


@pytest.mark.parametrize(
    ("settings", "ending"),
    [
        (Settings(), ["gpushare-webhook explain GPS001"]),
        (Settings(message_suffix="Ask #gpu-help."), ["gpushare-webhook explain GPS001", "Ask #gpu-help."]),
        (Settings(explain_url="https://example.com/{CODE}#{code}"), ["https://example.com/GPS001#gps001"]),
        (
            Settings(explain_url="http://example.com/gpus", message_suffix="{code} {} %s"),
            ["http://example.com/gpus", "{code} {} %s"],
        ),
    ],
    ids=["default", "suffix", "address", "both"],
)
@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.VALIDATE])
def test_denial_ends_with_where_to_read_more(settings: Settings, ending: list[str], hook: Hook) -> None:
    outcome = answer(recorded("create-pod-two-replicas"), hook, Evaluator.of(settings))
    lines = json.loads(outcome.body())["response"]["status"]["message"].splitlines()
    assert lines[0].startswith("GPS001 ")
    assert lines[1:] == ending


def test_denial_of_log_has_no_remedies() -> None:
    denied = answer(recorded("create-pod-two-replicas"), Hook.MUTATE)
    assert denied.denial() == f"GPS001 {denied.verdict.findings[0].message}"
    assert (denied.injected, answer(recorded("create-pod-vectoradd"), Hook.MUTATE).denial()) == ((), "")


def test_long_denial_of_log_is_cut() -> None:
    wrong = [{"name": f"{number}" * 50, "resources": {"limits": {"nvidia.com/gpu": 2}}} for number in range(100)]
    pod = {"metadata": {}, "spec": {"containers": wrong}}
    cut = answer(recorded("create-pod-vectoradd", object=pod), Hook.MUTATE).denial()
    assert (len(cut), cut[-1], cut.count("GPS001 ")) == (1024, "…", cut.count("; GPS001 ") + 1)


def test_audit_mode_records_without_warning() -> None:
    audit = Evaluator.of(Settings(mode="audit"))
    response = json.loads(answer(recorded("create-pod-two-replicas"), Hook.VALIDATE, audit).body())["response"]
    assert response["allowed"] is True
    assert "warnings" not in response
    assert response["auditAnnotations"] == {"findings": "GPS001=audit"}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"name": "given"}, "given"),
        ({"name": ""}, "vectoradd"),
        ({"name": "", "object": {"metadata": {"generateName": "train-"}}}, "train-"),
        ({"name": "", "object": {"metadata": {"name": None, "generateName": None}}}, ""),
        ({"name": "", "object": {"metadata": None}}, ""),
        ({"name": "", "object": {}}, ""),
        ({"name": "", "operation": "DELETE", "object": None}, ""),
    ],
    ids=str,
)
def test_object_name_or_generate_name(changes: Json, name: str) -> None:
    assert answer(recorded("create-pod-vectoradd", **changes), Hook.MUTATE).name == name


def test_patch_failing_proof_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    # The builder makes no such operation: a false one stands in for it.
    wrong = [{"op": "replace", "path": "/spec/containers", "value": []}]
    monkeypatch.setattr(sys.modules[respond.__module__], "build", lambda *_: wrong)
    outcome = answer(recorded("create-pod-vectoradd"), Hook.MUTATE)
    assert outcome.proof_failure == "/spec/containers: not an addition"
    assert json.loads(outcome.body())["response"] == {"uid": outcome.request.uid, "allowed": True}


@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.VALIDATE], ids=lambda hook: hook.path)
@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("create-pod-vectoradd", {"object": None}, "the request to CREATE has no object"),
        ("update-deployment-inference", {"object": None}, "the request to UPDATE has no object"),
        ("update-deployment-inference", {"oldObject": None}, "the request to UPDATE has no oldObject"),
        ("update-pod-vectoradd", {"object": None}, "the request to UPDATE has no object"),
        ("update-pod-vectoradd", {"oldObject": None}, "the request to UPDATE has no oldObject"),
    ],
    ids=str,
)
def test_request_without_object(name: str, changes: Json, says: str, hook: Hook) -> None:
    if hook.mutates and "deployment" in name:
        assert_untouched(answer(recorded(name, **changes), hook))
        return
    with pytest.raises(BadReviewError, match=says):
        answer(recorded(name, **changes), hook)
