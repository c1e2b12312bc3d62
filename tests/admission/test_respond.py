"""Which requests are judged, which are left as they are, and how an answer is told."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.apiserver import receive
from tests.recorded import body
from webhook.admission import BadReviewError, Hook, Outcome, respond
from webhook.policy.checks import CHECKS
from webhook.policy.facts import UNKNOWN
from webhook.policy.kinds import BUILT_IN
from webhook.policy.rules import Ruleset
from webhook.policy.settings import Settings

Json = dict[str, Any]

RULESET = Ruleset(Settings(), CHECKS, UNKNOWN)


def answer(review: Json, hook: Hook, ruleset: Ruleset = RULESET) -> Outcome:
    return respond(json.dumps(review).encode(), hook, ruleset, BUILT_IN)


def recorded(name: str, /, **changes: Any) -> Json:
    """A recorded review with other members of its request."""
    review: Json = json.loads(body(name))
    review["request"] |= changes
    return review


every_hook = pytest.mark.parametrize("hook", list(Hook), ids=lambda hook: hook.path)


@every_hook
@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", "", "OTHER"])
@pytest.mark.parametrize("name", ["create-pod-two-replicas", "create-statefulset-cache"])
def test_other_operations_pass(name: str, operation: str, hook: Hook) -> None:
    gone = {"object": None, "oldObject": json.loads(body(name))["request"]["object"]}
    assert_untouched(answer(recorded(name, operation=operation, **gone), hook))


@every_hook
@pytest.mark.parametrize("subresource", ["status", "ephemeralcontainers", "resize", "binding", "eviction", "scale"])
@pytest.mark.parametrize("name", ["create-pod-two-replicas", "create-statefulset-cache"])
def test_subresources_pass(name: str, subresource: str, hook: Hook) -> None:
    assert_untouched(answer(recorded(name, subResource=subresource), hook))


@every_hook
def test_an_eviction_without_an_object_passes(hook: Hook) -> None:
    review = recorded("create-pod-two-replicas", subResource="eviction", object=None)
    assert_untouched(answer(review, hook))


@every_hook
@pytest.mark.parametrize("kind", [{"kind": "Node"}, {"kind": "Pod", "group": "metrics.k8s.io"}, {"kind": "ConfigMap"}])
def test_kinds_that_hold_no_pod_pass(kind: Json, hook: Hook) -> None:
    assert_untouched(answer(recorded("create-pod-two-replicas", kind={"version": "v1"} | kind), hook))


def assert_untouched(outcome: Outcome) -> None:
    assert outcome.allowed
    assert outcome.operations == []
    response = json.loads(outcome.body())["response"]
    assert response == {"uid": outcome.request.uid, "allowed": True}


def test_without_deny_in_mutate_the_patch_goes_out_and_the_last_hook_refuses() -> None:
    later = Ruleset(Settings(deny_in_mutate=False), CHECKS, UNKNOWN)
    review = recorded("create-pod-two-replicas")
    mutated = answer(review, Hook.MUTATE, later)
    assert mutated.allowed
    assert mutated.operations
    assert mutated.verdict.decision.label == "denied"
    arrived = recorded(
        "create-pod-two-replicas", object=receive(mutated.body(), review["request"], mutating=True).object
    )
    assert not answer(arrived, Hook.VALIDATE, later).allowed


def test_the_mutated_pod_passes_the_last_hook_in_silence() -> None:
    review = recorded("create-pod-vectoradd")
    patched = receive(answer(review, Hook.MUTATE).body(), review["request"], mutating=True).object
    arrived = answer(recorded("create-pod-vectoradd", object=patched), Hook.VALIDATE)
    assert json.loads(arrived.body())["response"] == {"uid": arrived.request.uid, "allowed": True}


def test_a_denial_tells_every_finding_that_denies_on_a_line_of_its_own() -> None:
    container = {"name": "a", "resources": {"limits": {"nvidia.com/gpu": 2}}}
    other = {"name": "b", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    pod = {"metadata": {}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container, other]}}
    response = json.loads(answer(recorded("create-pod-vectoradd", object=pod), Hook.MUTATE).body())["response"]
    assert response["allowed"] is False
    assert response["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": 'GPS001 container "a" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS'
        "; ask for 1, or select nodes with whole cards (nvidia.com/gpu.sharing-strategy: none)\n"
        "GPS002 the pod asks for 2 replicas as a whole; the limit is 1 where GPUs are shared through MPS; "
        "split the pod, or let the administrator raise limits.perPod",
    }
    assert [warning[:6] for warning in response["warnings"]] == ["GPS015"]
    assert response["auditAnnotations"] == {"findings": "GPS001=deny,GPS002=deny,GPS015=warn"}
    assert "patch" not in response


def test_audited_findings_are_recorded_without_a_warning() -> None:
    audit = Ruleset(Settings(mode="audit"), CHECKS, UNKNOWN)
    response = json.loads(answer(recorded("create-pod-two-replicas"), Hook.VALIDATE, audit).body())["response"]
    assert response["allowed"] is True
    assert "warnings" not in response
    assert response["auditAnnotations"] == {"findings": "GPS001=audit,GPS019=audit"}


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
def test_the_name_is_what_there_is_of_one(changes: Json, name: str) -> None:
    assert answer(recorded("create-pod-vectoradd", **changes), Hook.MUTATE).name == name


def test_a_patch_that_fails_its_proof_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    # The builder makes no such operation: a false one stands in for it.
    wrong = [{"op": "replace", "path": "/spec/containers", "value": []}]
    monkeypatch.setattr(sys.modules[respond.__module__], "build", lambda *_: wrong)
    outcome = answer(recorded("create-pod-vectoradd"), Hook.MUTATE)
    assert outcome.flaw == "/spec/containers: not an addition"
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
def test_a_request_without_what_it_is_about(name: str, changes: Json, says: str, hook: Hook) -> None:
    judged_there = ("pod" in name and (hook.mutates or "create" in name)) or ("deployment" in name and not hook.mutates)
    if not judged_there:
        assert_untouched(answer(recorded(name, **changes), hook))
        return
    with pytest.raises(BadReviewError, match=says):
        answer(recorded(name, **changes), hook)


POD = "create-pod-vectoradd"
DEPLOYMENT = "create-deployment-inference"

MALFORMED: dict[str, tuple[str, Json, str]] = {
    "spec": (POD, {"spec": []}, "/spec: expected a mapping, found a list"),
    "containers": (POD, {"spec": {"containers": {}}}, "/spec/containers: expected a list, found a mapping"),
    "container": (POD, {"spec": {"containers": [1]}}, "/spec/containers/0: expected a mapping, found a number"),
    "null container": (POD, {"spec": {"containers": [None]}}, "/spec/containers/0: expected a mapping, found null"),
    "limits": (
        POD,
        {"spec": {"containers": [{"resources": {"limits": "2"}}]}},
        "/spec/containers/0/resources/limits: expected a mapping, found text",
    ),
    "env": (
        POD,
        {"spec": {"containers": [{"env": True}]}},
        "/spec/containers/0/env: expected a list, found a boolean",
    ),
    "env name": (
        POD,
        {"spec": {"containers": [{"env": [{"name": 1}]}]}},
        "/spec/containers/0/env/0/name: expected text, found a number",
    ),
    "tolerations": (POD, {"spec": {"tolerations": "all"}}, "/spec/tolerations: expected a list, found text"),
    "node selector": (POD, {"spec": {"nodeSelector": ["a"]}}, "/spec/nodeSelector: expected a mapping, found a list"),
    "annotations": (POD, {"metadata": {"annotations": []}}, "/metadata/annotations: expected a mapping"),
    "template": (DEPLOYMENT, {"spec": {"template": 1}}, "/spec/template: expected a mapping, found a number"),
    "template's annotations": (
        DEPLOYMENT,
        {"spec": {"template": {"metadata": {"annotations": "a~/b"}}}},
        "/spec/template/metadata/annotations: expected a mapping, found text",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_an_object_of_another_structure_is_told_with_its_place(case: str) -> None:
    name, malformed, says = MALFORMED[case]
    with pytest.raises(BadReviewError) as refused:
        answer(recorded(name, object=malformed), Hook.VALIDATE)
    assert f"the object is malformed at {says}" in str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (body("create-pod-vectoradd") + b"{}", "not JSON"),
        (b"null", "malformed"),
        (b"[]", "malformed"),
        (b"{}", "has no apiVersion"),
        (b'{"apiVersion":1,"kind":"AdmissionReview"}', "expected text, found a number"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}', 'kind is "Pod"; only AdmissionReview is answered'),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":null}',
            'apiVersion is "admission.k8s.io/v1beta1"; only admission.k8s.io/v1 is answered',
        ),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "the review has no request"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}', "the review has no request"),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}',
            "malformed at /request: has no uid",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":'
            b'{"uid":"","kind":{"kind":"Pod"},"operation":"CREATE"}}',
            "the request has no uid",
        ),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"' + b"K" * 1000 + b'"}', "KKK…"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_review_that_cannot_be_answered_is_refused_in_words(data: bytes, says: str) -> None:
    with pytest.raises(BadReviewError) as refused:
        respond(data, Hook.MUTATE, RULESET, BUILT_IN)
    assert says in str(refused.value)
    assert len(str(refused.value)) < 200
