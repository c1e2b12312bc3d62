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
from webhook.diagnose.audit import verdicts
from webhook.policy.verdict import DECISIONS, Decision
from webhook.report.model import Subject

HELD = [fixture for fixture in load_all() if (fixture.group, fixture.object["kind"]) in evaluator_of(fixture).kinds]
"""The fixtures of kinds that hold pods, which are those that the audit reads."""

TAKEN_OUT = {"runtimeClass", "pipeDirectory", "pipeMount", "tolerations"}


def audited(fixture: Fixture, live: Any) -> Any:
    subject = Subject(fixture.object["apiVersion"], fixture.object["kind"], fixture.namespace, "")
    (said,) = verdicts([evaluator_of(fixture)], live, subject)
    return (said.is_skipped, said.decision, said.findings, said.omitted(), said.reason)


@every_case(HELD, lambda fixture: fixture.name)
def test_live_object_is_checked_as_the_hook_gets_it(fixture: Fixture) -> None:
    stored = mutated(fixture, unbound(fixture))
    live = alive(fixture, stored)
    asked = {**stored, "spec": unbound_spec(live)} if fixture.is_pod else stored
    verdict = sent(fixture, Hook.VALIDATE, asked).verdict
    severities = [severity for (code, severity), count in verdict.counts.items() if code != UNMUTATED and count]
    assert audited(fixture, live) == (
        False,
        DECISIONS[max(severities)] if severities else Decision.ALLOWED,
        tuple(one for one in verdict.findings if one.code != UNMUTATED),
        {code: count for code, count in verdict.omitted().items() if code != UNMUTATED},
        verdict.reason,
    )


UNMUTATED = "GPS019"
"""The check that reports missing edits of the mutating hook, which tells nothing about an object that exists."""


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


def mutated(fixture: Fixture, created: Json) -> Json:
    """The object after the mutating hook."""
    if not fixture.is_pod:
        return created
    hook = Hook.MUTATE_WITHOUT_HOSTPATH if fixture.hook == "mutate-without-hostpath" else Hook.MUTATE
    patched: Json = jsonpatch.apply_patch(created, sent(fixture, hook, created).operations)
    return patched


def unbound(fixture: Fixture) -> Json:
    """The fixture's object without the fields of a pod that a live pod gets from others."""
    made = deepcopy(fixture.object)
    if fixture.is_pod and isinstance(made.get("spec"), dict):
        for field in ("nodeName", "priority", "preemptionPolicy", "overhead"):
            made["spec"].pop(field, None)
    return made


def unbound_spec(live: Json) -> Any:
    """The spec of a live pod without its node."""
    spec = live.get("spec")
    return {key: value for key, value in spec.items() if key != "nodeName"} if isinstance(spec, dict) else spec


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
