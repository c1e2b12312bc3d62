"""The cap on the mode of a running webhook: it only lowers, and tolerations are restored under every cap."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.admission.test_configurations import REFUSED, review
from tests.apiserver import receive
from tests.recorded import body
from webhook.admission import Hook, Outcome, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings
from webhook.policy.snapshot import MODES, Cap
from webhook.policy.verdict import Decision, Severity

Json = dict[str, Any]

DECISIONS = {"off": Decision.ALLOWED, "audit": Decision.ALLOWED, "warn": Decision.WARNED, "enforce": Decision.DENIED}
SETTINGS = [Settings(mode="enforce"), Settings(mode="warn"), Settings(mode="audit")]
TWO = json.loads(body("create-pod-two-replicas"))
VECTORADD = json.loads(body("create-pod-vectoradd"))

every_cap = pytest.mark.parametrize("cap", MODES)


def answer(request: Json, hook: Hook, evaluator: Evaluator) -> Outcome:
    return respond(json.dumps(request).encode(), hook, evaluator)


@every_cap
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.mode)
@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.VALIDATE])
def test_lower_of_cap_and_mode_decides(cap: Cap, settings: Settings, hook: Hook) -> None:
    lowest = min(cap, settings.mode, key=MODES.index)
    outcome = answer(TWO, hook, Evaluator.of(settings).capped(cap))
    assert (outcome.verdict.decision, outcome.allowed) == (DECISIONS[lowest], lowest != "enforce")


@every_cap
def test_cap_applies_to_namespace_with_mode_of_its_own(cap: Cap) -> None:
    rule = NamespaceRule(names=(TWO["request"]["namespace"],), mode="enforce")
    outcome = answer(TWO, Hook.MUTATE, Evaluator.of(Settings(mode="audit", namespaces=(rule,))).capped(cap))
    assert outcome.verdict.decision is DECISIONS[cap]


def test_cap_off_leaves_no_check_and_no_severity() -> None:
    policy = Evaluator.of(Settings(severities={"GPS005": "deny"})).capped("off").snapshot.of("team")
    assert set(policy.severities.values()) == {Severity.OFF}
    assert policy.active == frozenset()


@pytest.mark.parametrize("hook", list(Hook), ids=lambda hook: hook.path)
@pytest.mark.parametrize("spec", [{}, {"containers": "all"}, {"containers": [{"env": 1}]}], ids=str)
def test_cap_off_looks_at_nothing_of_new_object(hook: Hook, spec: Json) -> None:
    """So a defect of a check, or an object that it cannot read, rejects nothing."""
    request = {**VECTORADD, "request": {**VECTORADD["request"], "object": {"metadata": {}, "spec": spec}}}
    outcome = answer(request, hook, Evaluator.of(Settings()).capped("off"))
    assert json.loads(outcome.body())["response"] == {"uid": outcome.request.uid, "allowed": True}


@every_cap
def test_cap_lowers_findings_in_config_maps(cap: Cap) -> None:
    evaluator = Evaluator.of(Settings(severities={"GPS030": "deny"})).capped(cap)
    outcome = respond(review({"a": REFUSED}), Hook.VALIDATE, evaluator)
    assert (outcome.verdict.decision, bool(outcome.verdict.counts)) == (DECISIONS[cap], cap != "off")


@every_cap
def test_tolerations_are_restored_under_every_cap(cap: Cap) -> None:
    """A second `kubectl apply` of a bare pod drops the injected ones, and the API server rejects the update."""
    evaluator = Evaluator.of(Settings())
    bare = VECTORADD["request"]
    stored: Any = receive(answer(VECTORADD, Hook.MUTATE, evaluator).body(), bare, mutating=True).object
    applied = {**stored, "spec": {**stored["spec"], "tolerations": bare["object"]["spec"].get("tolerations", [])}}
    assert applied != stored
    update = {**bare, "operation": "UPDATE", "oldObject": stored, "object": applied}
    restored = answer({**VECTORADD, "request": update}, Hook.MUTATE, evaluator.capped(cap))
    assert receive(restored.body(), update, mutating=True).object == stored
    assert answer({**VECTORADD, "request": update}, Hook.VALIDATE, evaluator.capped(cap)).allowed


def test_cap_shares_what_was_built() -> None:
    evaluator = Evaluator.of(Settings())
    capped = evaluator.capped("warn")
    assert capped.snapshot.nodes is evaluator.snapshot.nodes
    assert capped.snapshot.of("team").severities != evaluator.snapshot.of("team").severities
    assert capped.capped("warn") is capped
    assert capped.capped("enforce").snapshot.of("team").severities == evaluator.snapshot.of("team").severities
