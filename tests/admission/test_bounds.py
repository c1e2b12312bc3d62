"""An answer without its patch stays below 64 KiB, whatever the number of findings."""

from __future__ import annotations

import json

import pytest

from tests.hostile import SHAPES, Shape, container, each, pod
from webhook.admission import BadReviewError, Hook, respond
from webhook.policy.checks import CHECKS
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import KEPT_PER_CODE

KIB = 1024
STRICT = Evaluator.of(Settings(severities={check.code: "deny" for check in CHECKS}))
LAX = Evaluator.of(Settings(mode="warn"))

EVERYTHING_WRONG = Shape(
    lambda count: pod(
        metadata={"annotations": {f"gpushare-webhook/{'a' * 200}{n}": "" for n in range(count)}},
        initContainers=each(
            count,
            lambda n: container(
                n,
                name="n" * 63,
                env=[
                    {"name": name, "value": "x" * 200}
                    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_CLIENT_PRIORITY", "NVIDIA_VISIBLE_DEVICES")
                ],
                volumeMounts=[{"name": "v", "mountPath": "/mps/nvidia.com/gpu/pipe/x"}],
                securityContext={"privileged": True, "runAsUser": n},
                resources={"limits": {"nvidia.com/gpu": 2, "nvidia.com/gpu.shared": 2, "nvidia.com/gpus": "x"}},
            ),
        ),
    )
)


@pytest.mark.parametrize("evaluator", [STRICT, LAX], ids=["deny", "warn"])
@pytest.mark.parametrize("hook", [Hook.MUTATE, Hook.VALIDATE])
def test_answer_to_everything_wrong_is_bounded(hook: Hook, evaluator: Evaluator) -> None:
    answer = json.loads(respond(EVERYTHING_WRONG.review(300), hook, evaluator).body())
    answer["response"].pop("patch", None)
    assert 4 * KIB < len(json.dumps(answer)) < 64 * KIB


@pytest.mark.parametrize("name", SHAPES)
def test_answer_to_hostile_shape_is_bounded(name: str) -> None:
    body = SHAPES[name].review(SHAPES[name].count_for(200 * KIB))
    answer = json.loads(respond(body, Hook.MUTATE, LAX).body())
    answer["response"].pop("patch", None)
    assert len(json.dumps(answer)) < 64 * KIB


def test_denial_counts_omitted_findings() -> None:
    two = Shape(
        lambda count: pod(containers=each(count, lambda n: container(n, resources={"limits": {"nvidia.com/gpu": 2}})))
    )
    response = json.loads(respond(two.review(60), Hook.VALIDATE, Evaluator.of(Settings())).body())
    lines = response["response"]["status"]["message"].splitlines()
    assert [line[:6] for line in lines[:-2]] == ["GPS001"] * KEPT_PER_CODE + ["GPS002"]
    assert lines[-2:] == ["and 40 more findings of GPS001, GPS002", "gpushare-webhook explain GPS001"]
    assert response["response"]["auditAnnotations"]["findings"].endswith("GPS002=deny,GPS019=warn,GPS001+40")


def test_denial_names_denying_finding_after_many_warnings_of_its_code() -> None:
    def wrong_pipe(number: int) -> dict[str, object]:
        where = {"value": "/pipe"} if number == KEPT_PER_CODE else {"valueFrom": {"fieldRef": {"fieldPath": "x"}}}
        limits = {"limits": {"nvidia.com/gpu": 1}}
        return container(number, env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", **where}], resources=limits)

    shape = Shape(lambda count: pod(containers=each(count, wrong_pipe)))
    settings = Settings(severities={"GPS002": "off"})
    response = json.loads(respond(shape.review(KEPT_PER_CODE + 2), Hook.VALIDATE, Evaluator.of(settings)).body())
    message = response["response"]["status"]["message"]
    assert message.startswith('GPS004 container "c20" sets CUDA_MPS_PIPE_DIRECTORY to "/pipe"'), message
    assert message.splitlines()[1:] == ["gpushare-webhook explain GPS004"]
    assert "GPS004+2" in response["response"]["auditAnnotations"]["findings"]


def test_warnings_count_omitted_findings() -> None:
    shape = SHAPES["annotations with the product's prefix"]
    response = json.loads(respond(shape.review(100), Hook.MUTATE, LAX).body())["response"]
    assert len(response["warnings"]) == KEPT_PER_CODE + 1
    assert response["warnings"][-1] == "and 80 more findings of GPS018"


def test_too_many_edits_answer_without_patch() -> None:
    outcome = respond(SHAPES["init containers"].review(5000), Hook.MUTATE, LAX)
    assert outcome.unpatched == "the pod needs more than 4096 edits, so none is made"
    assert outcome.allowed
    assert "patch" not in json.loads(outcome.body())["response"]


def test_malformed_path_is_shortened_and_printable() -> None:
    resources = Shape(lambda count: pod(nodeSelector={"k\n::error::" + "x" * count: 1}))
    with pytest.raises(BadReviewError) as error:
        respond(resources.review(5000), Hook.MUTATE, LAX)
    assert len(str(error.value)) < 400
    assert str(error.value).isprintable()
