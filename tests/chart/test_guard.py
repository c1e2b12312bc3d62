"""The guard in the API server: where the chart renders it, and that it denies only what the webhook denies.

The API server's own code evaluates it.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.chart import tools
from tests.chart.matching import request
from tests.chart.render import (
    FULLNAME,
    NAMESPACE,
    RefusedError,
    Values,
    cases,
    entry,
    objects,
    of_kind,
    only,
    render,
    rendered,
)
from tests.chart.test_settings import read, settings_file
from tests.fixture import evaluator_of, load_all
from webhook.admission import Hook, respond
from webhook.guard import exported, spec, why_absent
from webhook.policy.evaluate import Evaluator
from webhook.settings.configuration import Configuration, view
from webhook.settings.load import load

Object = dict[str, Any]

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
NAME = f"{FULLNAME}-guard"
MODE = "gpushare-webhook/mode"
LONGEST = 3_000
"""Characters of expressions."""


def _configuration(body: Object | None) -> Configuration:
    file = None if body is None else {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", **body}
    return load(file, lambda _path: (1, 1), "settings")


# Where there is a guard.


CASES = cases("guard")
ABSENT: dict[str, Object] = CASES["absent"]
UNLESS_ASKED: dict[str, Object] = CASES["unlessAsked"]
PRESENT: list[Object] = CASES["present"]
"""Bodies of settings files."""


def _policies(values: Values) -> list[Object]:
    return [one for one in of_kind(POLICY, values) if one["metadata"]["name"] == NAME]


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("reason", [*ABSENT, *UNLESS_ASKED])
def test_chart_and_program_leave_guard_out_for_one_reason(reason: str, asked: bool) -> None:
    body = {**ABSENT, **UNLESS_ASKED}[reason]
    values = {"config": body, "guard": {"enabled": asked or "auto"}}
    found = why_absent(view(_configuration(body)), asked=asked)
    assert found == ("" if asked and reason in UNLESS_ASKED else reason)
    assert bool(_policies(values)) is not bool(found)
    assert entry("pods.validate", values)["failurePolicy"] == ("Fail" if found else "Ignore")
    notes = render(values).notes.replace("config.", "")
    assert (f"There is no guard in the API server, because {found}.\n" in notes) is bool(found)


@pytest.mark.parametrize("body", PRESENT, ids=str)
def test_chart_and_program_make_same_guard(body: Object, tmp_path: Path) -> None:
    values = {"config": body}
    (policy,) = _policies(values)
    held = read(settings_file(values), tmp_path)
    assert policy["spec"] == yaml.safe_load(spec(view(held)))
    assert held.settings.guard.enabled
    assert why_absent(view(held), asked=False) == ""


def test_guard_is_left_out_where_values_say_so() -> None:
    values = {"guard": {"enabled": False}}
    assert _policies(values) == []
    assert "because guard.enabled is false.\n" in render(values).notes
    assert "the failure policy Fail, the default without a guard.\n" in render(values).notes


def test_expressions_are_short() -> None:
    made = yaml.safe_load(spec(view(_configuration(None))))
    parts = [*made["variables"], *made["validations"], *made["matchConditions"]]
    assert sum(len(one["expression"]) + len(one.get("messageExpression", "")) for one in parts) <= LONGEST


def test_guard_sees_what_hook_sees() -> None:
    selected: Object = {
        "ignoreLabel": True,
        "excludedNamespaces": ["argocd"],
        "objectSelector": {"matchLabels": {"a": "b"}},
        "validating": {"namespaceSelector": {"matchLabels": {"gpus": "checked"}}},
        "matchConditions": [{"name": "not-the-deployer", "expression": "request.userInfo.username != 'deployer'"}],
    }
    values = {"webhooks": selected}
    (binding,) = [one for one in of_kind(BINDING, values) if one["metadata"]["name"] == NAME]
    hook = entry("pods.validate", values)
    matched = binding["spec"]["matchResources"]
    assert matched == {key: hook[key] for key in ("matchPolicy", "namespaceSelector", "objectSelector")}
    (policy,) = _policies(values)
    assert policy["spec"]["matchConditions"][-1] == selected["matchConditions"][0]


@pytest.mark.parametrize("values", [{}, {"guard": {"only": True}}, {"config": {"mode": "audit"}}], ids=str)
def test_account_with_cap_is_always_there(values: Values) -> None:
    found = [one for one in of_kind("ServiceAccount", values) if one["metadata"]["name"] == f"{FULLNAME}-mode"]
    assert [(one["metadata"]["namespace"], one["automountServiceAccountToken"]) for one in found] == [
        (NAMESPACE, False)
    ]
    for binding in of_kind(BINDING, values):
        names = {"name": f"{FULLNAME}-mode", "namespace": NAMESPACE, "parameterNotFoundAction": "Allow"}
        assert binding["spec"]["paramRef"] == names


def test_guard_alone_installs_no_workload() -> None:
    values = {"guard": {"only": True}, "test": {"enabled": False}, "image": {"registry": ""}}
    assert {one["kind"] for one in objects(values)} == {"ConfigMap", "ServiceAccount", POLICY, BINDING}


REFUSED: dict[str, tuple[Values, str]] = {
    "a guard alone that is off": (
        {"guard": {"only": True, "enabled": False}},
        "guard.only is true, but guard.enabled is false, so that nothing would be installed",
    ),
    "a guard alone with facts": (
        {"guard": {"only": True}, "config": {"facts": {"nodes": True}}},
        "guard.only is true, but config.facts.nodes is set",
    ),
    "the setting that the chart writes": ({"config": {"guard": {"enabled": True}}}, "config.guard is written by the"),
}


@pytest.mark.parametrize("label", REFUSED)
def test_guard_that_cannot_work_is_rejected(label: str) -> None:
    values, message = REFUSED[label]
    with pytest.raises(RefusedError, match=message):
        rendered(values)


@pytest.mark.parametrize("given", [None, True, False])
def test_mutating_hook_denies_only_where_values_say_so(given: bool | None, tmp_path: Path) -> None:
    values = {} if given is None else {"config": {"denyInMutate": given}}
    assert read(settings_file(values), tmp_path).settings.deny_in_mutate is bool(given)
    assert only("ValidatingWebhookConfiguration", values)


def test_notes_say_where_annotation_reaches_guard_alone() -> None:
    values = {"tls": {"mode": "cert-manager"}, "config": {"facts": {"runtimeClasses": False}}}
    assert "This reaches the guard alone: the pods have no token" in render(values).notes
    assert "This reaches the guard alone" not in render({}).notes


# What it denies.


@dataclass(frozen=True)
class Group:
    """Requests for pods under the same settings, with the webhook's evaluator for them."""

    written: Object
    evaluator: Evaluator
    requests: Sequence[Object]


@dataclass(frozen=True)
class Compared:
    """What the guard makes of a request, and the decision of the webhook. `cost`: that of the validations."""

    request: Object
    messages: Sequence[str]
    error: str
    cost: int
    is_denied: bool


def compared(groups: Sequence[Group], mode: str | None = None) -> list[Compared]:
    """The answers for each request that the API server can read."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "annotations": {MODE: mode}}}
    if mode is None:
        del account["metadata"]["annotations"]  # type: ignore[attr-defined]
    policies = [next(yaml.safe_load_all(exported(one.written, "a", "b"))) for one in groups]
    sent = [
        {"policy": policy, "params": account, "requests": list(group.requests)}
        for group, policy in zip(groups, policies, strict=True)
    ]
    done = subprocess.run(
        [tools.guard()], input=json.dumps(sent), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return [
        Compared(asked, answer["messages"] or (), answer["error"], answer["cost"], _is_denied(group, asked, answer))
        for group, answers in zip(groups, json.loads(done.stdout), strict=True)
        for asked, answer in zip(group.requests, answers, strict=True)
        if answer is not None
    ]


def _is_denied(group: Group, asked: Object, answer: Object) -> bool:
    """Whether `/validate` denies the object as the API server holds it."""
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    body = json.dumps({**review, "request": {**asked, "object": answer["object"]}}).encode()
    return not respond(body, Hook.VALIDATE, group.evaluator).allowed


def _unsound(found: Sequence[Compared]) -> list[str]:
    return [
        f"{one.messages} {one.error}: {one.request}" for one in found if one.messages or one.error if not one.is_denied
    ]


def _of_fixtures() -> list[Group]:
    """The pods of the fixtures whose settings allow a guard, and whose facts tell nothing about nodes."""
    asked: dict[Evaluator, list[Object]] = {}
    groups = []
    for fixture in load_all():
        evaluator = evaluator_of(fixture)
        written = view(load(fixture.settings, lambda _path: (1, 1), fixture.name))
        facts = evaluator.snapshot.facts
        is_about_nodes = any(one is not None for one in (facts.nodes, facts.device_classes, facts.device_plugin))
        is_seen = fixture.object["kind"] == "Pod" and fixture.operation == "CREATE" and not fixture.subresource
        is_exempt = evaluator.snapshot.of(fixture.namespace).exemption is not None
        if not is_seen or is_exempt or is_about_nodes or why_absent(written, asked=False):
            continue
        if evaluator not in asked:
            asked[evaluator] = []
            groups.append(Group(written, evaluator, asked[evaluator]))
        received = fixture.object | {"metadata": fixture.object.get("metadata") or {}}
        asked[evaluator].append(request(received, groups=fixture.groups, namespace=fixture.namespace))
    return groups


def test_guard_denies_fixtures_only_where_webhook_does() -> None:
    found = compared(_of_fixtures())
    assert _unsound(found) == []
    assert len(found) >= 200
    assert sum(bool(one.messages) for one in found) >= 20


GENERATED = 5_000
_NAMES = ("nvidia.com/gpu",) * 6 + ("nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "example.com/card", "cpu")
_AMOUNTS = ("1", "1", "1", "2", "3", "0", "2000m", "500m", "-1", "1e3", "1k", "1e30", "9223372036854775807")
_FIELDS: tuple[Object, ...] = (
    {"nodeSelector": {"nvidia.com/mps.capable": "true"}},
    {"nodeSelector": {"nvidia.com/gpu.sharing-strategy": "none"}},
    {"nodeName": "node-1"},
    {"schedulingGates": [{"name": "wait"}]},
    {"schedulerName": "volcano"},
    {"os": {"name": "windows"}},
    {"os": {"name": "linux"}},
    {"runtimeClassName": "nvidia"},
    {"tolerations": [{"operator": "Exists"}]},
    {"hostIPC": True},
    {"affinity": {"podAntiAffinity": {}}},
    {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "nvidia.com/mps.capable", "operator": "NotIn", "values": ["true"]}
                            ]
                        }
                    ]
                }
            }
        }
    },
)
_METADATA: tuple[Object, ...] = (
    {"annotations": {"gpushare-webhook/injected": ""}},
    {"annotations": {"kubernetes.io/config.mirror": "x"}},
    {"annotations": {"gpushare-webhook/client-priority": "1"}},
    {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
)


def _generated(random: Random) -> Object:
    """The request for a pod. Two of three can land anywhere."""
    spec: Object = {"containers": [_container(random, f"c{place}") for place in range(random.choice((1, 1, 2, 3)))]}
    if random.random() < 0.3:
        restarts = random.choice(({}, {"restartPolicy": "Always"}))
        spec["initContainers"] = [_container(random, f"i{place}") | restarts for place in range(random.choice((1, 2)))]
    if random.random() < 0.35:
        spec |= random.choice(_FIELDS)
    metadata = {"name": "generated", **(random.choice(_METADATA) if random.random() < 0.1 else {})}
    namespace = random.choice(("team", "team-a", "lab", "x"))
    groups = random.choice((["tenants"], ["tenants"], ["system:nodes"]))
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return request(manifest, groups=groups, namespace=namespace)


def _container(random: Random, name: str) -> Object:
    names = random.sample(_NAMES, k=random.choice((0, 1, 1, 1, 2)))
    limits = {each: random.choice(_AMOUNTS) for each in names}
    requests = {each: limits[each] for each in names if random.random() < 0.5}
    if random.random() < 0.05:
        requests[random.choice(_NAMES)] = random.choice(_AMOUNTS)
    if random.random() < 0.2:
        limits.clear()
    return {"name": name, "image": "i", "resources": {"limits": limits, "requests": requests}}


def test_guard_denies_generated_pods_only_where_webhook_does() -> None:
    random = Random(45)  # noqa: S311 - reproducible pods, no secrets
    groups = []
    for body in PRESENT:
        held = _configuration(body)
        asked = [_generated(random) for _ in range(GENERATED // len(PRESENT) + 1)]
        groups.append(Group(view(held), Evaluator.of(held.settings), asked))
    found = compared(groups)
    assert _unsound(found) == []
    denied = Counter(message[:6] for one in found for message in one.messages)
    assert min(denied["GPS001"], denied["GPS002"]) >= GENERATED / 50, denied
    assert sum(one.is_denied and not one.messages for one in found) >= GENERATED / 20


def _pod(*containers: Object, **spec: Any) -> Object:
    return request(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}
    )


def _asking(name: str, amount: str, names: int = 0) -> Object:
    limits = {"nvidia.com/gpu": amount} | {f"n{number}": "1" for number in range(names)}
    return {"name": name, "image": "i", "resources": {"limits": limits, "requests": limits}}


def _of(*requests: Object, mode: str | None = None) -> list[Compared]:
    held = _configuration(None)
    return compared([Group(view(held), Evaluator.of(held.settings), requests)], mode)


def test_denial_names_container_and_remedy() -> None:
    one, whole = _of(_pod(_asking("train", "2")), _pod(_asking("a", "1"), _asking("b", "1")))
    assert one.messages == [
        'GPS001 container "train" asks for more than 1 of a shared GPU, and the kubelet rejects such a pod where it is '
        "shared through MPS; ask for at most 1, or select nodes with whole cards; more: gpushare-webhook explain GPS001"
    ]
    assert whole.messages == [
        "GPS002 the pod asks for 2 replicas as a whole; the limit is 1 where GPUs are shared through MPS; "
        "more: gpushare-webhook explain GPS002"
    ]


@pytest.mark.parametrize("mode", ["warn", "audit", "off"])
def test_cap_stops_guard(mode: str) -> None:
    assert [one.messages for one in _of(_pod(_asking("a", "2")), mode=mode)] == [()]


@pytest.mark.parametrize("mode", ["enforce", "disabled", ""])
def test_mode_that_caps_nothing_stops_nothing(mode: str) -> None:
    assert all(one.messages for one in _of(_pod(_asking("a", "2")), mode=mode))


def test_large_pods_cost_little_and_cause_no_error() -> None:
    large = [_asking(f"c{number}", "2", names=90) for number in range(100)]
    found = _of(
        _pod(*large),
        _pod(*[_asking(f"c{number}", "2") for number in range(5_000)]),
        _pod(_asking("a", "2", names=50_000)),
    )
    assert [one.error for one in found] == [""] * 3
    assert [bool(one.messages) for one in found] == [True, False, False]
    assert found[0].cost < 10_000_000 / 4
