"""Annotations that suppress findings: what counts, and that hostile ones stay cheap."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings, Suppress
from webhook.policy.verdict import KEPT_PER_CODE, UNTOUCHED, Decision, Severity, Verdict

KEY = "example.com/ignore"


def verdict(value: object, containers: int = 1, amount: int = 2) -> Verdict:
    """The verdict for a pod with the annotation, whose containers ask for an amount each."""
    evaluator = Evaluator.of(Settings(suppress=Suppress(annotation=KEY)))
    limits = {"nvidia.com/gpu": amount}
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "annotations": {KEY: value}},
        "spec": {"containers": [{"name": f"c{n}", "resources": {"limits": limits}} for n in range(containers)]},
    }
    return evaluator.evaluate(pod, "", "Pod", Origin("team-a"))


def test_omitted_findings_are_counted_by_severity() -> None:
    many = verdict("GPS009", containers=KEPT_PER_CODE + 3)
    assert many.omitted_by_severity() == {("GPS001", Severity.DENY): 3}
    assert verdict("GPS009").omitted_by_severity() == {}


@pytest.mark.parametrize(
    ("value", "suppressed", "reported"),
    [
        ("GPS001", {"GPS001"}, set()),
        (" gps001 ,, GPS009,", {"GPS001"}, set()),
        ("GPS009", set(), {"GPS001"}),
        ("GPS1", set(), {"GPS001", "GPS018"}),
        ("*", set(), {"GPS001", "GPS018"}),
        ("true", set(), {"GPS001", "GPS018"}),
        ("", set(), {"GPS001", "GPS018"}),
        ("GPS001 GPS002", set(), {"GPS001", "GPS018"}),
        ("bogus,GPS001,GPS018", {"GPS001", "GPS018"}, set()),
        (1, set(), {"GPS001", "GPS018"}),
        (["GPS001"], set(), {"GPS001", "GPS018"}),
        ("GPS001" + " " * 2000, set(), {"GPS001", "GPS018"}),
        ("GPS001," * 100_000, set(), {"GPS001", "GPS018"}),
        ("\u202e,\n" * 100, set(), {"GPS001", "GPS018"}),
    ],
)
def test_annotation_suppresses_listed_codes(value: object, suppressed: set[str], reported: set[str]) -> None:
    found = verdict(value)
    assert set(found.suppressed.counts) == suppressed
    assert {one.code for one in found.findings} == reported
    assert found.decision is (Decision.DENIED if "GPS001" in reported else Decision.ALLOWED)


def test_findings_of_one_code_are_bounded_and_counted() -> None:
    found = verdict("GPS001", containers=50)
    assert (len(found.suppressed.findings), found.suppressed.counts["GPS001"]) == (KEPT_PER_CODE, 50)
    assert {one.code for one in found.suppressed.findings} == {"GPS001"}
    assert {one.code for one in found.findings} == {"GPS002"}


def test_pod_without_findings_suppresses_nothing() -> None:
    assert verdict("GPS001", amount=1).suppressed is UNTOUCHED.suppressed


def test_message_about_annotation_is_bounded() -> None:
    (found,) = (one for one in verdict("x" * 1_000_000).findings if one.code == "GPS018")
    assert len(found.message) <= 120
