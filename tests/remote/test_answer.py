"""Answers of servers, read without trust."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.linear import assert_linear
from webhook.policy.verdict import Severity
from webhook.remote import UnansweredError
from webhook.remote.answer import MOST_FINDINGS, Answer, Reported, read

UID = "6a0e5f4c-6a1c-4a55-9d5e-5d1a3f8f2b10"


def body(**response: Any) -> bytes:
    """An AdmissionReview whose response has these members."""
    members = {"uid": UID, "allowed": True, **response}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": members}).encode()


def findings(listed: str, **response: Any) -> tuple[Reported, ...]:
    """The findings of a response with this audit annotation."""
    return read(body(auditAnnotations={"findings": listed}, **response), UID).findings


def denied(message: str) -> dict[str, Any]:
    """The members of a denial."""
    return {"allowed": False, "status": {"code": 403, "message": message}}


def test_no_findings() -> None:
    assert read(body(), UID) == Answer(True)


def test_lines_in_order_of_findings() -> None:
    found = findings(
        "GPS001=deny,GPS001=deny,GPS005=warn,GPS007=audit",
        **denied("GPS001 a; b\nGPS001 c; d"),
        warnings=["GPS005 e"],
    )
    assert found == (
        Reported("GPS001", Severity.DENY, "GPS001 a; b"),
        Reported("GPS001", Severity.DENY, "GPS001 c; d"),
        Reported("GPS005", Severity.WARN, "GPS005 e"),
        Reported("GPS007", Severity.AUDIT, None),
    )


def test_count_of_further_findings_is_no_message() -> None:
    listed = ",".join(["GPS005=warn"] * 3 + ["GPS005+7"])
    answer = read(
        body(auditAnnotations={"findings": listed}, warnings=["GPS005 a", "and 9 more findings of GPS005"]), UID
    )
    assert [one.line for one in answer.findings] == ["GPS005 a", None, None]
    assert answer.omitted == {"GPS005": 7}


def test_line_without_code_is_kept() -> None:
    (found,) = findings("GPS001=deny", **denied("the team's own words"))
    assert found.line == "the team's own words"


def test_denial_in_mutating_hook_without_message() -> None:
    assert findings("GPS001=deny") == (Reported("GPS001", Severity.DENY, None),)


def test_messages_are_printable() -> None:
    (found,) = findings("GPS005=warn", warnings=["GPS005 \x1b[31mred\r\n::error::" + "x" * 100_000])
    assert found.line is not None
    assert found.line.isprintable()
    assert len(found.line) <= 1024


def test_patch() -> None:
    operation = {"op": "add", "path": "/spec/runtimeClassName", "value": "nvidia"}
    patch = base64.b64encode(json.dumps([operation]).encode()).decode()
    assert read(body(patch=patch, patchType="JSONPatch"), UID).operations == (operation,)


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (b"", "not an AdmissionReview"),
        (b"<html>", "not an AdmissionReview"),
        (b"\xff{}", "not an AdmissionReview"),
        (b"[]", "not an AdmissionReview"),
        (b"[" * 1_000_000, "not an AdmissionReview"),
        (b'{"a":' * 1_000_000, "not an AdmissionReview"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "not an AdmissionReview"),
        (body(allowed="yes"), "not an AdmissionReview"),
        (body(warnings=[1]), "not an AdmissionReview"),
        (body(patch="%%%"), "not an AdmissionReview"),
        (body().replace(b"AdmissionReview", b"ConversionReview"), 'kind "ConversionReview"'),
        (body().replace(b"v1", b"v1beta1"), '"admission.k8s.io/v1beta1"'),
        (body(uid="other"), 'uid is "other"'),
        (body(uid="\x1b[31m"), 'uid is "?[31m"'),
        (body(patch=base64.b64encode(b'[{"op":"add"}]').decode()), "not a JSON Patch"),
        (body(patch=base64.b64encode(b"[" * 100_000).decode()), "not a JSON Patch"),
        (body(**denied("no pods on Fridays")), 'denied in a form that gpushare-webhook does not use: "no pods on Fri'),
        (body(warnings=["beware"]), 'a warning in a form that gpushare-webhook does not use: "beware"'),
        (body(auditAnnotations={"findings": "GPS1=deny"}), 'lists a finding as "GPS1=deny"'),
        (body(auditAnnotations={"findings": "GPS001=fatal"}), 'lists a finding as "GPS001=fatal"'),
        (
            body(auditAnnotations={"findings": "GPS005=warn"}, **denied("because")),
            'without a finding that denies it: "be',
        ),
        (body(auditAnnotations={"findings": "GPS001=warn," * 100_000}), f"more than {MOST_FINDINGS} findings"),
    ],
)
def test_rejected(sent: bytes, problem: str) -> None:
    with pytest.raises(UnansweredError) as error:
        read(sent, UID)
    assert problem in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1500


def test_unknown_members_are_ignored() -> None:
    assert read(body(status={"metadata": {}, "code": 403}, extra={"a": [1]}), UID) == Answer(True)


CAUSE = {"reason": "GPS001", "message": "a; b", "field": 'spec.containers[0].resources.limits["nvidia.com/gpu"]'}


def test_cause_names_field() -> None:
    (found,) = caused(CAUSE)
    path = ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")
    assert found == Reported("GPS001", Severity.DENY, "GPS001 a; b; c", "a; b", path)


@pytest.mark.parametrize("other", [{"reason": "GPS002"}, {"message": "b"}, {"message": ""}])
def test_cause_that_differs_from_line_is_ignored(other: dict[str, str]) -> None:
    assert caused({**CAUSE, **other}) == (Reported("GPS001", Severity.DENY, "GPS001 a; b; c"),)


def test_many_causes_with_long_fields() -> None:
    (found,) = caused(*[{**CAUSE, "field": "[0]" * 1000}] * 100_000)
    assert len(found.field) < 100


def caused(*causes: dict[str, str]) -> tuple[Reported, ...]:
    """The findings of a denial with these causes."""
    status = {"code": 403, "message": "GPS001 a; b; c", "details": {"causes": causes}}
    return findings("GPS001=deny", allowed=False, status=status)


def test_time_is_linear_in_warnings() -> None:
    def reading(size: int) -> Callable[[], object]:
        sent = body(warnings=["and 1 more findings of GPS005"] * size, auditAnnotations={"findings": "GPS005=warn"})
        return lambda: read(sent, UID)

    assert_linear(reading, 1000, 100_000)
