"""The recorded reviews get the answers that were written down for them by hand, and the API server takes them."""

from __future__ import annotations

import json

from tests.apiserver import Reception, receive
from tests.cases import every_case
from tests.fixture import HOOKS
from tests.pointers import find
from tests.recorded import Recorded, expectations, load_all, names
from webhook.admission import Outcome, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

EVALUATOR = Evaluator.of(Settings())

every_review = every_case(load_all(), lambda recorded: f"{recorded.name} at {recorded.hook}")


def outcome(recorded: Recorded) -> Outcome:
    hook = HOOKS[recorded.hook]
    assert hook is not None
    return respond(recorded.body, hook, EVALUATOR)


def received(recorded: Recorded) -> Reception:
    request = json.loads(recorded.body)["request"]
    return receive(outcome(recorded).body(), request, mutating=recorded.hook != "validate")


@every_review
def test_decision_and_findings(recorded: Recorded) -> None:
    verdict = outcome(recorded).verdict
    assert [found.code for found in verdict.findings] == recorded.codes
    assert verdict.decision.label == recorded.decision


@every_review
def test_patch(recorded: Recorded) -> None:
    answered = outcome(recorded)
    assert answered.proof_failure is None
    assert answered.operations == recorded.patch


@every_review
def test_api_server_accepts_answer(recorded: Recorded) -> None:
    reception = received(recorded)
    assert reception.allowed is (recorded.decision != "denied")
    assert all(len(warning) <= 120 for warning in reception.warnings)
    if reception.allowed:
        for operation in recorded.patch:
            there = find(reception.object, operation["path"])
            assert operation["value"] == there or operation["value"] in there


@every_review
def test_denial_is_403_with_line_per_finding(recorded: Recorded) -> None:
    reception = received(recorded)
    denying = [found for found in outcome(recorded).verdict.findings if found.severity.label == "deny"]
    assert reception.code == (403 if denying else None)
    lines = [f"{found.code} {found.message}; {found.remedy}" for found in denying]
    ending = [f"gpushare-webhook explain {found.code}" for found in denying[:1]]
    assert reception.message == "\n".join([*lines, *ending])


@every_review
def test_warnings_and_audit_annotation_start_with_the_code(recorded: Recorded) -> None:
    reception, findings = received(recorded), outcome(recorded).verdict.findings
    warned = [found for found in findings if found.severity.label == "warn"]
    assert reception.warnings == [f"{found.code} {found.message}" for found in warned]
    expected = ",".join(f"{found.code}={found.severity.label}" for found in findings)
    assert reception.audit == ({"findings": expected} if findings else {})


def test_recorded_reviews_have_expectations() -> None:
    assert sorted(expectations()) == names()
