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

TERM = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0"


def in_affinity(term: Json) -> Json:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"spec": {"affinity": {"nodeAffinity": required}}}


MALFORMED: dict[str, tuple[str, Json, str]] = {
    "spec": (POD, {"spec": []}, "/spec: expected a mapping, found a list"),
    "containers": (POD, {"spec": {"containers": {}}}, "/spec/containers: expected a list, found a mapping"),
    "container": (POD, {"spec": {"containers": [1]}}, "/spec/containers/0: expected a mapping, found a number"),
    "null container": (POD, {"spec": {"containers": [None]}}, "/spec/containers/0: expected a mapping, found null"),
    "resources": (
        POD,
        {"spec": {"containers": [{"resources": "2"}]}},
        "/spec/containers/0/resources: expected a mapping, found text",
    ),
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
    "node selector's value": (
        POD,
        {"spec": {"nodeSelector": {"a/b": True}}},
        "/spec/nodeSelector/a~1b: expected text, found a boolean",
    ),
    "expression's values": (
        POD,
        in_affinity({"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}),
        f"{TERM}/matchExpressions/0/values: expected a list, found text",
    ),
    "expression's value": (
        POD,
        in_affinity({"matchFields": [{"key": "a", "operator": "In", "values": ["b", 1]}]}),
        f"{TERM}/matchFields/0/values/1: expected text, found a number",
    ),
    "expression's key": (
        POD,
        in_affinity({"matchExpressions": [{"key": 1, "operator": "Exists"}]}),
        f"{TERM}/matchExpressions/0/key: expected text, found a number",
    ),
    "init containers": (POD, {"spec": {"initContainers": 7}}, "/spec/initContainers: expected a list, found a number"),
    "metadata": (POD, {"metadata": []}, "/metadata: expected a mapping, found a list"),
    "annotations": (POD, {"metadata": {"annotations": []}}, "/metadata/annotations: expected a mapping"),
    "template": (DEPLOYMENT, {"spec": {"template": 1}}, "/spec/template: expected a mapping, found a number"),
    "template's annotations": (
        DEPLOYMENT,
        {"spec": {"template": {"metadata": {"annotations": "a~/b"}}}},
        "/spec/template/metadata/annotations: expected a mapping, found text",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_object_is_reported_with_path(case: str) -> None:
    name, malformed, says = MALFORMED[case]
    review: Json = json.loads(body(name))
    review["request"]["object"] = malformed
    with pytest.raises(BadReviewError) as refused:
        respond(json.dumps(review).encode(), Hook.VALIDATE, EVALUATOR)
    assert f"the object is malformed at {says}" in str(refused.value)


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
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":'
            b'{"uid":"1","kind":{"kind":"Pod"},"operation":"CREATE","object":{"spec":1e999}}}',
            "out of range",
        ),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}', 'kind is "Pod"; only AdmissionReview is supported'),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":null}',
            'apiVersion is "admission.k8s.io/v1beta1"; only admission.k8s.io/v1 is supported',
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
