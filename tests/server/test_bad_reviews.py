"""Bodies that are not reviews, or reviews of malformed objects, get 400 and a message with place and cause."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.client import Client
from tests.server.reviews import deployment, pod, review
from tests.server.test_requests import assert_refused

DEEP = 100_000
GOOD = review(pod())


def with_object(text: str) -> bytes:
    """A review whose object is the given text."""
    return json.dumps(review("HERE")).replace('"HERE"', text).encode()


def without(member: str) -> dict[str, Any]:
    """A review whose request lacks a member."""
    return {**GOOD, "request": {key: value for key, value in GOOD["request"].items() if key != member}}


NO_REVIEWS = {
    "text": b"hello",
    "half": json.dumps(GOOD).encode()[:-40],
    "two": json.dumps(GOOD).encode() * 2,
    "yaml": b"apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\n",
    "not UTF-8": json.dumps(review(pod(name="\u00e9")), ensure_ascii=False).encode("latin-1"),
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "null": b"null",
    "a number": b"1",
    "a list": json.dumps([GOOD]).encode(),
    "empty": b"{}",
    "a pod": json.dumps(pod()).encode(),
    "without kind": json.dumps({**GOOD, "kind": ""}).encode(),
    "deep lists": b"[" * DEEP,
    "deep mappings": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep object": with_object('{"spec":' * DEEP + "1" + "}" * DEEP),
    "deep list in an object": with_object('{"spec":{"containers":' + "[" * DEEP + "]" * DEEP + "}}"),
    "deep part that is not read": with_object('{"status":' * DEEP + "1" + "}" * DEEP),
    "request null": json.dumps({**GOOD, "request": None}).encode(),
    "request a list": json.dumps({**GOOD, "request": []}).encode(),
    "no uid": json.dumps(without("uid")).encode(),
    "empty uid": json.dumps(review(pod(), uid="")).encode(),
    "uid a number": json.dumps(review(pod(), uid=7)).encode(),
    "no kind": json.dumps(without("kind")).encode(),
    "no operation": json.dumps(without("operation")).encode(),
    "groups a text": json.dumps(review(pod(), userInfo={"groups": "system:nodes"})).encode(),
    "v1beta1": json.dumps({**GOOD, "apiVersion": "admission.k8s.io/v1beta1"}).encode(),
    "another kind": json.dumps({**GOOD, "kind": "ConversionReview"}).encode(),
    "no object": json.dumps(review(None, kind={"kind": "Pod", "version": "v1"})).encode(),
    "no old object": json.dumps(review(pod(), "UPDATE")).encode(),
    "object a text": json.dumps(review("x")).encode(),
}

# What a client reads to find its mistake. The other messages come from a library.
MESSAGES = {
    "v1beta1": 'apiVersion is "admission.k8s.io/v1beta1"; only admission.k8s.io/v1 is supported',
    "another kind": 'kind is "ConversionReview"; only AdmissionReview is supported',
    "request null": "the review has no request",
    "empty uid": "the request has no uid",
    "no object": "the request to CREATE has no object",
    "no old object": "the request to UPDATE has no oldObject",
}


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath"])
@pytest.mark.parametrize("name", NO_REVIEWS)
def test_malformed_review_gets_400(client: Client, path: str, name: str) -> None:
    refused = client.post(path, NO_REVIEWS[name])
    message = refused.json()["message"]
    assert_refused(refused, 400, MESSAGES.get(name, message))
    assert message
    assert len(message) < 300
    assert "\n" not in message
    assert ".py" not in message


@pytest.mark.parametrize("name", MESSAGES)
def test_malformed_review_on_validate(client: Client, name: str) -> None:
    body = NO_REVIEWS[name].replace(b'"v1", "kind": "Pod"', b'"v1", "kind": "Pod"')
    if name == "no old object":
        body = json.dumps(review(deployment(1), "UPDATE")).encode()
    assert_refused(client.post("/validate", body), 400, MESSAGES[name])


def pod_with(**spec: Any) -> dict[str, Any]:
    return {**pod(), "spec": spec}


BROKEN = {
    "/spec": ({**pod(), "spec": []}, "expected a mapping, found a list"),
    "/spec/containers": (pod_with(containers={}), "expected a list, found a mapping"),
    "/spec/containers/1": (pod_with(containers=[{}, "x"]), "expected a mapping, found text"),
    "/spec/initContainers": (pod_with(initContainers=7), "expected a list, found a number"),
    "/spec/containers/0/resources": (pod_with(containers=[{"resources": []}]), "expected a mapping, found a list"),
    "/metadata": ({**pod(), "metadata": []}, "expected a mapping, found a list"),
    "/metadata/annotations": (
        {**pod(), "metadata": {"annotations": "x"}},
        "expected a mapping, found text",
    ),
}


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath", "/validate"])
@pytest.mark.parametrize("pointer", BROKEN)
def test_malformed_object_names_its_pointer(client: Client, path: str, pointer: str) -> None:
    manifest, said = BROKEN[pointer]
    refused = client.review(path, review(manifest))
    assert_refused(refused, 400, f"the object is malformed at {pointer}: {said}")


def test_malformed_template_names_its_pointer(client: Client) -> None:
    broken = {**deployment(1), "spec": {"template": {"spec": {"containers": {}}}}}
    refused = client.review("/validate", review(broken))
    said = "the object is malformed at /spec/template/spec/containers: expected a list, found a mapping"
    assert_refused(refused, 400, said)


def test_valid_review_after_malformed_ones(client: Client) -> None:
    assert client.review("/mutate", GOOD).json()["response"]["allowed"] is True
