"""Messages fit a warning of the API server, with the longest legal names and with hostile ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import every_case
from tests.fixture import Fixture, evaluator_of, load_all
from tests.strategies.selecting import selecting
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.node_classes import STRATEGY
from webhook.policy.pods.client_limits import PREFIX
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.settings.settings import Limits, Resource, Settings, TimeSlicingLimits
from webhook.policy.verdict import MESSAGE_LIMIT, Finding, message

Json = dict[str, Any]

LIMIT = 120

FIRING = [
    fixture
    for fixture in load_all()
    if fixture.hook == "offline" and fixture.folder.startswith("GPS") and fixture.expect.findings
]

LONGEST_PREFIX = ".".join(["d" * 61] * 3 + ["d" * 58])
LONGEST_NAMES = {
    "nvidia.com/gpu.shared": f"{LONGEST_PREFIX}/{'s' * 63}",
    "nvidia.com/gpus": f"{LONGEST_PREFIX}/{'g' * 62}",
    "nvidia.com/gpu": f"{LONGEST_PREFIX}/{'g' * 63}",
}


def fits(findings: tuple[Finding, ...]) -> None:
    for found in findings:
        assert len(f"{found.code} {found.message}") <= LIMIT
        assert found.message.isprintable()
        assert found.remedy


@every_case(
    [fixture for fixture in FIRING if "annotation" not in json.dumps(fixture.object) or fixture.folder != "GPS024"],
    lambda fixture: fixture.name,
)  # an annotation of GPS024 may name the container
def test_long_container_names(fixture: Fixture) -> None:
    renamed: Json = json.loads(json.dumps(fixture.object), object_hook=_rename)
    evaluator = evaluator_of(fixture)
    verdict = evaluator.evaluate(renamed, fixture.group, renamed["kind"], RequestContext(fixture.namespace))
    assert {found.code for found in verdict.findings} == {one["code"] for one in fixture.expect.findings}
    fits(verdict.findings)


def _rename(mapping: Json) -> Json:
    return mapping | {"name": (mapping.get("name", "c") * 63)[:63]} if "image" in mapping else mapping


@pytest.mark.parametrize("code", ["GPS001", "GPS002", "GPS003", "GPS004", "GPS010", "GPS013", "GPS017"])
def test_long_resource_names(code: str) -> None:
    settings = Settings(
        resources=(
            Resource(LONGEST_NAMES["nvidia.com/gpu"]),
            Resource(LONGEST_NAMES["nvidia.com/gpu.shared"], renamed=True),
        )
    )
    said: set[str] = set()
    for fixture in FIRING:
        if fixture.folder != code or not fixture.is_pod or fixture.settings is not None:
            continue
        text = json.dumps(json.loads(json.dumps(fixture.object), object_hook=_rename))
        for short, long in LONGEST_NAMES.items():
            text = text.replace(f'"{short}"', f'"{long}"').replace(f"/mps/{short}/", f"/mps/{long}/")
        evaluator = OfflineEvaluator.of(settings)
        verdict = evaluator.evaluate(json.loads(text), "", "Pod", RequestContext("n" * 63))
        said |= {found.code for found in verdict.findings}
        fits(verdict.findings)
    assert code in said


hostile = (
    st.text(max_size=200)
    | st.sampled_from(
        ["\u202e\u2066txt", "a\nb\x00c\x1b[31m", "{}", "{0}{x}", '"quoted"', "%s", "é" * 300, "", "\U0001f600" * 80]
    )
    | st.just("x" * 1_000_000)
)


@given(st.tuples(hostile, hostile, hostile, hostile, hostile))
def test_hostile_names(names: tuple[str, ...]) -> None:
    container, resource, value, path, annotation = names
    pod = {
        "metadata": {"annotations": {f"{PREFIX}{annotation}": value, "gpushare-webhook/client-priority": value}},
        "spec": {
            "runtimeClassName": f"kata{value}",
            "initContainers": [{"name": container, "resources": {"limits": {"nvidia.com/gpu": 1}}}],
            "containers": [
                {
                    "name": container,
                    "resources": {"limits": {"nvidia.com/gpu": 2, "nvidia.com/gpu.shared": value, resource: value}},
                    "env": [
                        {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": path},
                        {"name": "NVIDIA_VISIBLE_DEVICES", "value": value},
                        {"name": "CUDA_MPS_CLIENT_PRIORITY", "value": value},
                        {"name": value, "value": value},
                    ],
                    "volumeMounts": [{"name": value, "mountPath": f"/mps/nvidia.com/gpu/pipe/{path}"}],
                }
            ],
        },
    }
    evaluator = OfflineEvaluator.of(Settings())
    verdict = evaluator.evaluate(pod, "", "Pod", RequestContext(value))
    assert "GPS001" in {found.code for found in verdict.findings}
    fits(verdict.findings)


@pytest.mark.parametrize("digits", [19, 40, 4000, 5000])
def test_huge_numbers_fit_messages(digits: int) -> None:
    number = 10**digits
    user = {"securityContext": {"runAsUser": number}, "resources": {"limits": {"nvidia.com/gpu": 1}}}
    other = {"securityContext": {"runAsUser": number + 1}, "resources": {"limits": {"nvidia.com/gpu": -number}}}
    third = {"securityContext": {"runAsUser": -number}, "resources": {"limits": {"nvidia.com/gpu": number}}}
    pod = {"spec": {"containers": [{"name": f"c{index}"} | one for index, one in enumerate((user, other, third))]}}
    evaluator = OfflineEvaluator.of(Settings())
    verdict = evaluator.evaluate(pod, "", "Pod", RequestContext("default"))
    assert {"GPS001", "GPS003"} <= {found.code for found in verdict.findings}
    fits(verdict.findings)


@pytest.mark.parametrize("excluded", ["mps", "time-slicing"])
@pytest.mark.parametrize("replicas", [9_999_999, 10**30, 10**400], ids=["plain", "exponent", "long exponent"])
def test_long_names_and_amounts_of_gated_pod(excluded: str, replicas: int) -> None:
    name = LONGEST_NAMES["nvidia.com/gpu"]
    pod = {
        "spec": {
            "schedulingGates": [{"name": "a"}],
            "affinity": selecting({"key": STRATEGY, "operator": "NotIn", "values": [excluded]})["spec"]["affinity"],
            "initContainers": [{"name": "i" * 63, "resources": {"limits": {name: replicas}}}],
        }
    }
    limits = Limits(time_slicing=TimeSlicingLimits(per_container=1))
    evaluator = OfflineEvaluator.of(Settings(resources=(Resource(name),), limits=limits))
    verdict = evaluator.evaluate(pod, "", "Pod", RequestContext("default"))
    assert "chosen later" in next(found.message for found in verdict.findings if found.code == "GPS001")
    fits(verdict.findings)


@given(st.text(max_size=90), st.lists(st.text(max_size=300), min_size=1, max_size=3))
def test_long_names_are_shortened_to_fit_message(words: str, names: list[str]) -> None:
    template = words.replace("{", "").replace("}", "") + "{}" * len(names)
    said = str(message(template, *names))
    shortest = len(template) + 9 * len(names)
    assert len(said) <= max(MESSAGE_LIMIT, shortest)
    assert len(said) >= min(MESSAGE_LIMIT, len(template) + sum(map(len, names)))


def test_short_name_next_to_long_one_stays_whole() -> None:
    said = str(message("container {} asks for {}", "train", "x" * 300 + "end"))
    assert said.startswith('container "train" asks for "xxx')
    assert said.endswith('end"')
    assert "…" in said
    assert len(said) == MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("billionths", "words"),
    [
        (0, "0"),
        (NANO, "1"),
        (2 * NANO, "2"),
        (NANO // 2, "0.5"),
        (1, "0.000000001"),
        (-NANO - 1, "-1.000000001"),
        (9_999_999 * NANO, "9999999"),
        (10_000_000 * NANO, "1.0e7"),
        (-12_345_678 * NANO, "-1.2e7"),
        (10**39, "1.0e30"),
        (10**1000, "1.0e991"),
    ],
)
def test_amount_format(billionths: int, words: str) -> None:
    assert amount(billionths) == words
