"""`audit` says about a live object what `/validate` says to its creation, but for GPS019."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import jsonpatch

from tests.cases import every_case
from tests.contract.offline import MIRROR, review_of
from tests.fixture import Fixture, Json, evaluator_of, load_all
from webhook.admission import Hook
from webhook.admission.respond import Outcome, respond
from webhook.diagnose.audit.created import OwnEdits
from webhook.diagnose.audit.outcome import Auditor, outcome
from webhook.policy.pods.client_limits import INJECTED

HELD = [fixture for fixture in load_all() if (fixture.group, fixture.object["kind"]) in evaluator_of(fixture).kinds]
"""The fixtures of kinds that hold pods, which are those that the audit reads."""

TAKEN_OUT = {"runtimeClass", "pipeDirectory", "pipeMount", "tolerations"}


def audited(fixture: Fixture, live: Any) -> Any:
    found = Auditor([evaluator_of(fixture)])
    (said,) = found.outcomes(live, fixture.group, fixture.object["apiVersion"], fixture.object["kind"])
    return said


@every_case(HELD, lambda fixture: fixture.name)
def test_live_object_is_checked_as_created(fixture: Fixture) -> None:
    created = unbound(fixture)
    stored, injected = mutated(fixture, created)
    # The affinity of steering stays: without it, the pod would not be what the hooks admitted.
    admitted = stored if "steering" in injected else created
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
    own = OwnEdits(evaluator_of(fixture).snapshot)
    is_marked = INJECTED in (stored["metadata"].get("annotations") or {})
    if is_marked and TAKEN_OUT.issuperset(injected):
        found, expected = (stored_form(own.created(alive(fixture, one))) for one in (stored, created))
        assert (found == expected) is (fixture.name not in OWN_VALUES)


def stored_form(value: Any) -> Any:
    """A value without empty members, which the API server does not store."""
    if isinstance(value, dict):
        return {key: kept for key, one in value.items() if (kept := stored_form(one)) not in (None, [], {}, "")}
    return [stored_form(one) for one in value] if isinstance(value, list) else value


DEFAULTS = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]
TOKEN: Json = {"name": "kube-api-access-x7k2p", "projected": {"sources": []}}
TOKEN_MOUNT = {"name": TOKEN["name"], "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}


def sent(fixture: Fixture, hook: Hook, created: Json) -> Outcome:
    """The outcome of a hook about the creation of an object."""
    asked = deepcopy(review_of(fixture))
    asked["request"] |= {"object": created, "operation": "CREATE", "oldObject": None, "subResource": ""}
    return respond(json.dumps(asked).encode(), hook, evaluator_of(fixture))


def mutated(fixture: Fixture, created: Json) -> tuple[Json, tuple[str, ...]]:
    """The object after the mutating hook, and the injections of its patch."""
    if not fixture.is_pod:
        return created, ()
    hook = Hook.MUTATE_WITHOUT_HOSTPATH if fixture.hook == "mutate-without-hostpath" else Hook.MUTATE
    outcome = sent(fixture, hook, created)
    return jsonpatch.apply_patch(created, outcome.operations), outcome.injected


def unbound(fixture: Fixture) -> Json:
    """The fixture's object without the fields of a pod that a live pod gets from others."""
    made = deepcopy(fixture.object)
    if fixture.is_pod and isinstance(made.get("spec"), dict):
        for field in ("nodeName", "priority", "preemptionPolicy", "overhead"):
            made["spec"].pop(field, None)
    return made


def alive(fixture: Fixture, stored: Json) -> Json:
    """The object as a list of the API server holds it, which names no kind for the built-in ones."""
    live: dict[str, Any] = deepcopy(stored)
    live["metadata"] = metadata = {**(live.get("metadata") or {}), "uid": "u", "resourceVersion": "7", "generation": 1}
    metadata |= {"namespace": fixture.namespace, "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}]}
    live["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    if MIRROR in (metadata.get("annotations") or {}) and "system:nodes" in groups(fixture):
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": "gpu-1", "controller": True}]
    if "." not in fixture.group:
        del live["apiVersion"], live["kind"]
    if fixture.is_pod and isinstance(live.get("spec"), dict):
        _bind(live["spec"])
    return live


def groups(fixture: Fixture) -> list[str]:
    """The groups of the caller who creates the object."""
    found: list[str] = review_of(fixture)["request"]["userInfo"]["groups"]
    return found


def _bind(spec: Json) -> None:
    """Give a pod what the scheduler and admission plugins add."""
    spec |= {"nodeName": "gpu-1", "priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    if isinstance(spec.get("tolerations", []), list):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *DEFAULTS]
    if isinstance(spec.get("volumes", []), list):
        spec["volumes"] = [*(spec.get("volumes") or ()), TOKEN]
        for one in spec.get("containers") or ():
            if isinstance(one, dict) and isinstance(one.get("volumeMounts", []), list):
                one["volumeMounts"] = [*(one.get("volumeMounts") or ()), TOKEN_MOUNT]
