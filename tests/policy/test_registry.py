"""The checks and injections as they are registered, and the rules of namespaces that are kept."""

from __future__ import annotations

import re

import pytest

from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.evaluate import Evaluator
from webhook.policy.injections import INJECTIONS
from webhook.policy.injections.injection import Injection
from webhook.policy.settings.settings import NamespaceRule, Settings
from webhook.policy.verdict import Severity

DENYING = {"GPS001", "GPS002", "GPS003", "GPS004", "GPS010", "GPS017", "GPS018"}


def test_codes_are_those_of_the_contract_in_order() -> None:
    assert [check.code for check in CHECKS] == [f"GPS{number:03d}" for number in range(1, 20)]


def test_severities_are_those_of_the_contract() -> None:
    assert {check.code for check in CHECKS if check.severity is Severity.DENY} == DENYING
    assert {check.severity for check in CHECKS} == {Severity.DENY, Severity.WARN}


@pytest.mark.parametrize("one", [*CHECKS, *INJECTIONS], ids=lambda one: getattr(one, "code", None) or one.name)
def test_each_explains_itself(one: Check | Injection) -> None:
    assert re.fullmatch(r"\S.{10,90}[^.]", one.title)
    assert "\n\n" in one.description
    assert "Why: " in one.description
    assert ("Remedy: " if isinstance(one, Check) else "Not when: ") in one.description


def test_rules_of_a_namespace_are_made_once() -> None:
    evaluator = Evaluator.of(Settings())
    assert evaluator.ruleset.of("a") is evaluator.ruleset.of("a")
    assert evaluator.ruleset.of("a") is not evaluator.ruleset.of("b")


def test_rules_of_more_namespaces_than_a_cluster_has_are_forgotten_and_made_again() -> None:
    evaluator = Evaluator.of(Settings(namespaces=(NamespaceRule(names=("a",), mode="audit"),)))
    first = evaluator.ruleset.of("a")
    for number in range(5000):
        evaluator.ruleset.of(f"namespace-{number}")
    again = evaluator.ruleset.of("a")
    assert again is not first
    assert again.severities == first.severities
    assert first.severities["GPS001"] is Severity.AUDIT
