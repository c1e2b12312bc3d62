"""`audit` says about a live object what `/validate` says to its creation, but for GPS019."""

from __future__ import annotations

from typing import Any

from tests.cases import every_case
from tests.contract.live import alive, mutated, sent, unbound
from tests.fixture import Fixture, evaluator_of, load_all
from webhook.admission import Hook
from webhook.live.audit.created import OwnEdits
from webhook.live.audit.outcome import Auditor, outcome
from webhook.policy.mark import INJECTED

HELD = [fixture for fixture in load_all() if (fixture.group, fixture.object["kind"]) in evaluator_of(fixture).kinds]
"""The fixtures of kinds that hold pods, which are those that the audit reads."""

PLACING = {"steering", "memory"}
"""Injections whose affinity stays in the pod: without it, the pod would not be what the hooks admitted."""

TAKEN_OUT = {"runtimeClass", "pipeDirectory", "pipeMount", "tolerations"}


def audited(fixture: Fixture, live: Any) -> Any:
    found = Auditor([evaluator_of(fixture)])
    (said,) = found.outcomes(live, fixture.group, fixture.object["apiVersion"], fixture.object["kind"])
    return said


@every_case(HELD, lambda fixture: fixture.name)
def test_live_object_is_checked_as_created(fixture: Fixture) -> None:
    created = unbound(fixture)
    stored, injected = mutated(fixture, created)
    admitted = stored if PLACING.intersection(injected) else created
    assert audited(fixture, alive(fixture, stored)) == outcome(sent(fixture, Hook.VALIDATE, admitted).verdict)


PODS = [fixture for fixture in HELD if fixture.is_pod]

OWN_VALUES = (
    "pipeMount/annotation-says-it",
    "pipeMount/volume-already-there",
)
"""The fixtures whose author wrote a part of the edits: it is taken out with the rest, and would be added again."""


@every_case(PODS, lambda fixture: fixture.name)
def test_own_edits_are_taken_out_exactly(fixture: Fixture) -> None:
    created = unbound(fixture)
    stored, injected = mutated(fixture, created)
    own = OwnEdits(evaluator_of(fixture).ruleset)
    is_marked = INJECTED in (stored["metadata"].get("annotations") or {})
    if is_marked and TAKEN_OUT.issuperset(injected):
        found, expected = (stored_form(own.created(alive(fixture, one))) for one in (stored, created))
        assert (found == expected) is (fixture.name not in OWN_VALUES)


def stored_form(value: Any) -> Any:
    """A value without empty members, which the API server does not store."""
    if isinstance(value, dict):
        return {key: kept for key, one in value.items() if (kept := stored_form(one)) not in (None, [], {}, "")}
    return [stored_form(one) for one in value] if isinstance(value, list) else value
