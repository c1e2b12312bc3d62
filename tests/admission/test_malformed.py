"""What cannot be answered is refused in words that name the place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.recorded import body
from webhook.admission import BadReviewError, Hook, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]

EVALUATOR = Evaluator.of(Settings())

POD = "create-pod-vectoradd"
DEPLOYMENT = "create-deployment-inference"
ASKS = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":'

TERM = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0"


def holding(value: Any, path: str) -> Any:
    """The least object with this value at a JSON pointer."""
    for name in reversed(path.split("/")[1:]):
        value = [*["b"] * int(name), value] if name.isdecimal() else {name.replace("~1", "/"): value}
    return value


@pytest.mark.parametrize(
    ("name", "path", "value", "expected", "found"),
    [
        (POD, "/spec", [], "a mapping", "a list"),
        (POD, "/spec/containers", {}, "a list", "a mapping"),
        (POD, "/spec/containers/0", 1, "a mapping", "a number"),
        (POD, "/spec/containers/0", None, "a mapping", "null"),
        (POD, "/spec/containers/0/resources", "2", "a mapping", "text"),
        (POD, "/spec/containers/0/resources/limits", "2", "a mapping", "text"),
        (POD, "/spec/containers/0/env", True, "a list", "a boolean"),
        (POD, "/spec/containers/0/env/0/name", 1, "text", "a number"),
        (POD, "/spec/tolerations", "all", "a list", "text"),
        (POD, "/spec/nodeSelector", ["a"], "a mapping", "a list"),
        (POD, "/spec/nodeSelector/a~1b", True, "text", "a boolean"),
        (POD, f"{TERM}/matchExpressions/0/values", "b", "a list", "text"),
        (POD, f"{TERM}/matchFields/0/values/1", 1, "text", "a number"),
        (POD, f"{TERM}/matchExpressions/0/key", 1, "text", "a number"),
        (POD, "/spec/initContainers", 7, "a list", "a number"),
        (POD, "/metadata", [], "a mapping", "a list"),
        (POD, "/metadata/annotations", [], "a mapping", "a list"),
        (DEPLOYMENT, "/spec/template", 1, "a mapping", "a number"),
        (DEPLOYMENT, "/spec/template/metadata/annotations", "a~/b", "a mapping", "text"),
    ],
)
def test_malformed_object_is_reported_with_path(name: str, path: str, value: Any, expected: str, found: str) -> None:
    review: Json = json.loads(body(name))
    review["request"]["object"] = holding(value, path)
    with pytest.raises(BadReviewError) as refused:
        respond(json.dumps(review).encode(), Hook.VALIDATE, EVALUATOR)
    assert f"the object is malformed at {path}: expected {expected}, found {found}" in str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (body("create-pod-vectoradd") + b"{}", "not JSON"),
        (b"apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\n", "not JSON"),
        (body("create-pod-vectoradd").decode().encode("utf-16"), "not JSON"),
        (body("create-pod-vectoradd").replace(b'"vectoradd"', b'"\xe9"'), "not JSON"),
        (b"null", "malformed"),
        (b"[]", "malformed"),
        (b"{}", "has no apiVersion"),
        (b'{"apiVersion":1,"kind":"AdmissionReview"}', "expected text, found a number"),
        (b'%b{"uid":"1","kind":{"kind":"Pod"},"operation":"CREATE","object":{"spec":1e999}}}' % ASKS, "out of range"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}', 'kind is "Pod"; only AdmissionReview is supported'),
        (
            ASKS.replace(b"/v1", b"/v1beta1") + b"null}",
            'apiVersion is "admission.k8s.io/v1beta1"; only admission.k8s.io/v1 is supported',
        ),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "the review has no request"),
        (ASKS + b"null}", "the review has no request"),
        (ASKS + b"{}}", "malformed at /request: has no uid"),
        (ASKS + b'{"uid":"","kind":{"kind":"Pod"},"operation":"CREATE"}}', "the request has no uid"),
        (body("create-pod-vectoradd").replace(b'"uid":', b'"uid":7,"other":', 1), "expected text, found a number"),
        (body("create-pod-vectoradd").replace(b'"operation":', b'"other":'), "malformed at /request: has no operation"),
        (body("create-pod-vectoradd").replace(b'"groups":', b'"groups":"a","other":'), "expected a list, found text"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"' + b"K" * 1000 + b'"}', "KKK…"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_unanswerable_review_is_rejected_with_message(data: bytes, says: str) -> None:
    with pytest.raises(BadReviewError) as refused:
        respond(data, Hook.MUTATE, EVALUATOR)
    assert says in str(refused.value)
    assert len(str(refused.value)) < 200
