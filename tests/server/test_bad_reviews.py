"""Bodies that are not reviews, or reviews of malformed objects, get 400 and a message. `tests/admission` has more."""

from __future__ import annotations

import json

import pytest

from tests.server.client import Client
from tests.server.reviews import deployment, pod, review
from tests.server.test_requests import assert_refused

GOOD = review(pod())
V1BETA1 = {**GOOD, "apiVersion": "admission.k8s.io/v1beta1"}
REFUSED = {
    "half": (json.dumps(GOOD).encode()[:-40], "not JSON: Input data was truncated"),
    "deep": (
        json.dumps(review("HERE")).replace('"HERE"', '{"status":' * 100_000 + "1" + "}" * 100_000).encode(),
        "not an AdmissionReview: nested too deeply",
    ),
    "v1beta1": (
        json.dumps(V1BETA1).encode(),
        'apiVersion is "admission.k8s.io/v1beta1"; only admission.k8s.io/v1 is supported',
    ),
    "object": (
        json.dumps(review({**pod(), "spec": {"containers": [{}, "x"]}})).encode(),
        "the object is malformed at /spec/containers/1: expected a mapping, found text",
    ),
}


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath", "/validate"])
@pytest.mark.parametrize("name", REFUSED)
def test_malformed_review_gets_400(client: Client, path: str, name: str) -> None:
    body, message = REFUSED[name]
    assert_refused(client.post(path, body), 400, message)


def test_malformed_template_names_its_pointer(client: Client) -> None:
    broken = {**deployment(1), "spec": {"template": {"spec": {"containers": {}}}}}
    refused = client.review("/validate", review(broken))
    said = "the object is malformed at /spec/template/spec/containers: expected a list, found a mapping"
    assert_refused(refused, 400, said)


def test_valid_review_after_malformed_ones(client: Client) -> None:
    assert client.review("/mutate", GOOD).json()["response"]["allowed"] is True
