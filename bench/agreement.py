"""Check before measurements that candidates do the same work: the same edits, and the same pods denied."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Sequence
from typing import Any

import jsonpatch

from bench.candidates import AUTHORITY, Running
from bench.corpus import KINDS, Size, reviews

_PATIENCE = 20
_LOOK_AT = 3


class DisagreementError(Exception):
    """A candidate gives a wrong answer, so a comparison would be meaningless."""


def check(servers: Sequence[Running], sizes: Sequence[Size]) -> None:
    """Send each server some reviews of every kind and size. Raises DisagreementError."""
    for size in sizes:
        for kind in KINDS:
            for body in reviews(kind, size)[:_LOOK_AT]:
                _check(servers, kind, f"{kind} {size.title}", body)


def _check(servers: Sequence[Running], kind: str, case: str, body: bytes) -> None:
    review = json.loads(body)["request"]
    pods = {}
    for server in servers:
        name = server.candidate.name
        answer = _ask(server, body)["response"]
        if answer["uid"] != review["uid"]:
            raise DisagreementError(f"{name}, {case}: the answer has another uid")
        if not server.candidate.decides:
            continue
        if answer["allowed"] is not (kind != "denied"):
            raise DisagreementError(f"{name}, {case}: allowed is {answer['allowed']}")
        operations = json.loads(base64.b64decode(answer.get("patch", ""))) if "patch" in answer else []
        if bool(operations) is not (kind == "mutated"):
            raise DisagreementError(f"{name}, {case}: {len(operations)} operations")
        pods[name] = jsonpatch.apply_patch(review["object"], operations)
    if any(pod != review["object"] for pod in pods.values()) is not (kind == "mutated"):
        raise DisagreementError(f"{case}: the pod stays as it was, or does not")
    (_, expected), *others = pods.items()
    for name, pod in others:
        if pod != expected:
            raise DisagreementError(f"{name}, {case}: another pod than the webhook's: {_difference(expected, pod)}")


def _ask(server: Running, body: bytes) -> Any:
    trust = ssl.create_default_context(cafile=str(AUTHORITY))
    connection = http.client.HTTPSConnection("localhost", server.port, timeout=_PATIENCE, context=trust)
    try:
        connection.request("POST", "/mutate?timeout=10s", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise DisagreementError(f"{server.candidate.name}: HTTP {answer.status} {content[:200]!r}")
    return json.loads(content)


def _difference(expected: Any, pod: Any) -> str:
    return str(jsonpatch.make_patch(expected, pod))[:500]
