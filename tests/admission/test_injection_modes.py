"""Injections that change pods, that are only reported, or that are off; and the annotation that names them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import jsonpatch
import pytest

from tests.apiserver import receive
from tests.fixture import HOOKS, Fixture, evaluator_of, load_all, review
from tests.recorded import body
from webhook.admission import Hook, Outcome, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.elements import NamespaceInjections, NamespaceRule
from webhook.policy.settings.settings import FactsSettings, Guard, Injections, Settings
from webhook.policy.snapshot import Cap

Json = dict[str, Any]

INJECTED = "gpushare-webhook/injected"
PODS = [fixture for fixture in load_all() if fixture.is_pod and fixture.operation == "CREATE"]
EXPECTED = "runtimeClass,pipeDirectory,pipeMount,tolerations"


def settings(injects: Any, **others: Any) -> Settings:
    return Settings(injections=Injections(mode=injects), **others)


def answer(hook: Hook, evaluated: Settings, name: str = "create-pod-vectoradd", **changes: Any) -> Outcome:
    reviewed: Json = json.loads(body(name))
    reviewed["request"] |= changes
    return respond(json.dumps(reviewed).encode(), hook, Evaluator.of(evaluated))


@cache
def with_mode(evaluator: Evaluator, mode: Any) -> Evaluator:
    """An evaluator in another mode of injections."""
    own = evaluator.snapshot
    namespaces = tuple(replace(rule, injections=NamespaceInjections()) for rule in own.settings.namespaces)
    changed = replace(own.settings, injections=replace(own.settings.injections, mode=mode), namespaces=namespaces)
    return Evaluator.of(changed, own.facts)


def reviewed(fixture: Fixture, hook: Hook, mode: Any) -> Outcome:
    return respond(json.dumps(review(fixture)).encode(), hook, with_mode(evaluator_of(fixture), mode))


@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.MUTATE_WITHOUT_HOSTPATH], ids=lambda hook: hook.path)
def test_report_names_what_on_injects_and_changes_no_pod(hook: Hook) -> None:
    """Where both modes admit a pod: steering in mode `report` leaves a pod over the limit as it is, and so denied."""
    compared = 0
    for fixture in PODS:
        made, reported = reviewed(fixture, hook, "on"), reviewed(fixture, hook, "report")
        assert (reported.operations, reported.injected) == ([], ()), fixture.name
        if made.allowed and reported.allowed:
            assert reported.reported == made.injected, fixture.name
            assert made.reported == (), fixture.name
            compared += bool(made.injected)
    assert compared > 100


@pytest.mark.parametrize("mode", ["report", "off"])
def test_final_hook_expects_no_edits_unless_injections_are_on(mode: str) -> None:
    for fixture in PODS:
        if HOOKS[fixture.hook] in (None, Hook.VALIDATE):
            codes = [found.code for found in reviewed(fixture, Hook.VALIDATE, mode).verdict.findings]
            assert "GPS019" not in codes, fixture.name


@pytest.mark.parametrize("mode", ["on", "report", "off"])
def test_update_of_template_gets_verdict_of_creation(mode: str) -> None:
    """Only the pods of mode `on` tolerate the node that shares, because the webhook injects the toleration."""
    resources = {"nvidia.com/gpu": 4}
    taint = Taint("nvidia.com/gpu", effect="NoSchedule")
    nodes = Node("mps", {"nvidia.com/mps.capable": "true"}, (taint,), resources), Node("whole", _WHOLE, (), resources)
    evaluator = Evaluator.of(settings(mode, facts=FactsSettings(nodes=True)), Facts(nodes=nodes))
    for change in ({"operation": "CREATE"}, {"operation": "UPDATE", "oldObject": _deployment("1")}):
        request = {"uid": "1", "kind": _DEPLOYMENT, "namespace": "team", "object": _deployment("2"), **change}
        review: Json = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        assert respond(json.dumps(review).encode(), Hook.VALIDATE, evaluator).allowed is (mode != "on"), change


_WHOLE = {"nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.sharing-strategy": "none"}
_DEPLOYMENT = {"group": "apps", "version": "v1", "kind": "Deployment"}


def _deployment(gpus: str) -> Json:
    container = {"name": "train", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {"metadata": {"name": "train"}, "spec": {"template": {"spec": {"containers": [container]}}}}


def test_off_injects_and_reports_nothing() -> None:
    for fixture in PODS:
        outcome = reviewed(fixture, Hook.MUTATE, "off")
        assert (outcome.operations, outcome.injected, outcome.reported) == ([], (), ()), fixture.name


def test_report_sends_one_warning_and_an_audit_annotation() -> None:
    response = json.loads(answer(Hook.MUTATE, settings("report")).body())["response"]
    assert response["warnings"] == [f"gpushare-webhook would inject: {EXPECTED.replace(',', ', ')}"]
    assert response["auditAnnotations"] == {"would-inject": EXPECTED}
    assert "patch" not in response
    assert "warnings" not in json.loads(answer(Hook.VALIDATE, settings("report")).body())["response"]


def test_longest_warning_of_report_fits_120_characters() -> None:
    outcome = answer(Hook.MUTATE, settings("report"))
    outcome.reported = ("runtimeClass", "pipeDirectory", "limits", "voidDevices", "pipeMount", "tolerations")
    (warning,) = json.loads(outcome.body())["response"]["warnings"]
    assert len(warning) <= 120


def test_audit_implies_report_without_a_warning() -> None:
    response = json.loads(answer(Hook.MUTATE, Settings(mode="audit")).body())["response"]
    assert "patch" not in response
    assert "warnings" not in response
    assert response["auditAnnotations"] == {"would-inject": EXPECTED}


def test_audit_injects_where_the_mode_of_injections_is_set() -> None:
    assert answer(Hook.MUTATE, settings("on", mode="audit")).injected == tuple(EXPECTED.split(","))


@pytest.mark.parametrize(
    ("rule", "injected", "reported"),
    [
        ({"injections": NamespaceInjections("report")}, False, True),
        ({"injections": NamespaceInjections("off")}, False, False),
        ({"mode": "audit"}, False, True),
        ({"mode": "audit", "injections": NamespaceInjections("on")}, True, False),
        ({"mode": "warn"}, True, False),
    ],
    ids=str,
)
def test_namespace_has_its_own_mode(rule: Json, injected: bool, reported: bool) -> None:
    outcome = answer(Hook.MUTATE, Settings(namespaces=(NamespaceRule(("*",), **rule),)))
    assert (bool(outcome.injected), bool(outcome.reported)) == (injected, reported)


def test_namespace_enforces_and_injects_beside_audit() -> None:
    rule = NamespaceRule(("*",), mode="enforce")
    assert answer(Hook.MUTATE, Settings(mode="audit", namespaces=(rule,))).injected


def test_denied_pod_reports_no_injection() -> None:
    outcome = answer(Hook.MUTATE, settings("report"), "create-pod-two-replicas")
    assert (outcome.allowed, outcome.reported) == (False, ())
    assert "warnings" not in json.loads(outcome.body())["response"]


@pytest.mark.parametrize("asked", ["on", "report", "off", None])
@pytest.mark.parametrize(("cap", "most"), [("enforce", "on"), ("warn", "on"), ("audit", "report"), ("off", "off")])
def test_cap_of_installation_lowers_mode_of_injections(cap: Cap, most: str, asked: str | None) -> None:
    evaluator = Evaluator.of(settings(asked)).capped(cap)
    outcome = respond(body("create-pod-vectoradd"), Hook.MUTATE, evaluator)
    effective = min(asked or "on", most, key=("off", "report", "on").index)
    assert (bool(outcome.operations), bool(outcome.reported)) == (effective == "on", effective == "report")
    assert outcome.warns is (effective == "report" and cap in ("enforce", "warn"))


# The annotation.


def mutated(pod: Json, evaluated: Settings) -> Json:
    changes: Json = {"object": pod}
    reception = receive(
        answer(Hook.MUTATE, evaluated, object=pod).body(),
        json.loads(body("create-pod-vectoradd"))["request"] | changes,
        mutating=True,
    )
    changed: Json = reception.object
    return changed


def bare(**metadata: Any) -> Json:
    pod: Json = json.loads(body("create-pod-vectoradd"))["request"]["object"]
    pod["metadata"] |= metadata
    return pod


def test_annotation_names_the_injections() -> None:
    assert mutated(bare(), Settings())["metadata"]["annotations"][INJECTED] == EXPECTED


def test_second_call_adds_what_it_injects_to_the_annotation() -> None:
    once = mutated(bare(annotations={INJECTED: "mine"}), Settings())
    assert once["metadata"]["annotations"][INJECTED] == f"mine,{EXPECTED}"
    del once["spec"]["runtimeClassName"]
    once["metadata"]["annotations"][INJECTED] = "pipeDirectory"
    again = mutated(once, Settings())
    assert again["metadata"]["annotations"][INJECTED] == "pipeDirectory,runtimeClass"
    assert again["spec"]["runtimeClassName"] == "nvidia"


def test_annotation_is_not_trusted() -> None:
    forged = mutated(bare(annotations={INJECTED: EXPECTED}), Settings())
    assert forged["spec"]["runtimeClassName"] == "nvidia"
    assert forged["metadata"]["annotations"][INJECTED] == EXPECTED


def test_annotation_has_no_finding() -> None:
    outcome = answer(Hook.VALIDATE, Settings(), object=mutated(bare(), Settings()))
    assert outcome.verdict.findings == ()


def test_pod_without_injections_gets_no_annotation() -> None:
    assert answer(Hook.MUTATE, Settings(), "create-pod-no-gpu").operations == []


def test_annotate_off_writes_no_annotation() -> None:
    changed = mutated(bare(), Settings(injections=Injections(annotate=False)))
    assert INJECTED not in changed["metadata"]["annotations"]
    assert changed["spec"]["runtimeClassName"] == "nvidia"


def test_huge_annotation_is_extended_in_linear_time() -> None:
    value = "a," * 100_000
    pod = bare(annotations={INJECTED: value})
    operations = answer(Hook.MUTATE, Settings(), object=pod).operations
    changed = jsonpatch.apply_patch(pod, operations)
    assert changed["metadata"]["annotations"][INJECTED] == f"{value},{EXPECTED}"


@pytest.mark.parametrize("mode", ["on", "report", "off"])
@pytest.mark.parametrize("annotates", [True, False])
def test_pod_that_asks_is_annotated_for_guard_in_each_mode(mode: Any, annotates: bool) -> None:
    injections = Injections(mode=mode, annotate=annotates)
    for guard, expected in ((True, EXPECTED if mode == "on" and annotates else ""), (False, None)):
        outcome = answer(Hook.MUTATE, Settings(injections=injections, guard=Guard(enabled=guard), deny_in_mutate=False))
        made = jsonpatch.apply_patch(json.loads(body("create-pod-vectoradd"))["request"]["object"], outcome.operations)
        if guard or mode != "on" or not annotates:
            assert made["metadata"].get("annotations", {}).get(INJECTED) == expected


@pytest.mark.parametrize(
    ("pod", "mode"),
    [(bare(annotations={INJECTED: ""}), "off"), (json.loads(body("create-pod-no-gpu"))["request"]["object"], "on")],
)
def test_pod_that_is_annotated_or_has_no_gpu_is_not_annotated_for_guard(pod: Json, mode: Any) -> None:
    evaluated = Settings(injections=Injections(mode=mode), guard=Guard(enabled=True))
    assert answer(Hook.MUTATE, evaluated, object=pod).operations == []
