"""The kinds of the presets, with the definitions that their projects publish, on a real API server.

The chart's configurations call the product, which runs as a process. No controller of a project runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.run import run
from tests.cluster.harness.chart_hooks import chart_hooks, gpu_control_plane
from tests.cluster.harness.custom_kinds import CustomKinds, install
from tests.cluster.harness.failures import failures
from tests.cluster.harness.health import total
from tests.cluster.harness.hooks import rejection
from tests.cluster.harness.manifests import GPU, container, pod
from tests.cluster.harness.reviews import Reviewer
from tests.cluster.harness.selection import covering, parameters
from tests.cluster.samples import SAMPLES as ALL_SAMPLES
from tests.cluster.samples import Place, Sample
from tests.contract.answers import Answered, by_check
from tests.crds.typed import TYPED
from webhook.patch.build import pointer
from webhook.policy.workloads.paths import REPEATED, Assembly, Containers, PathPattern, PodPath, steps
from webhook.policy.workloads.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.custom_kinds import Answer
    from tests.cluster.harness.hooks import LocalWebhook

KINDS = {
    (kind.group, kind.kind): kind for preset in PRESETS for kind in preset.kinds if (kind.group, kind.kind) not in TYPED
}
SAMPLES = tuple(sample for sample in ALL_SAMPLES if (sample.group, sample.kind) in KINDS)
"""The samples of kinds whose definitions can be installed."""
# Nothing converts objects of older versions when they are stored.
STORED = [sample for sample in SAMPLES if sample.manifest["metadata"]["name"] != "older"]
Offline = dict[tuple[str, Place, int], dict[str, Any]]
OPEN = {"Pipeline", "Task"}
"""Kinds that cannot choose nodes: the objects that use them may choose nodes where the amount is right."""
WARNED = "Warning: "


def _parts(path: PodPath) -> tuple[Containers, ...]:
    return path.holds.parts if isinstance(path.holds, Assembly) else ()


def _leads(pattern: PathPattern, place: Place) -> bool:
    """Whether the steps lead to something above a place."""
    pairs = zip(pattern, place, strict=False)
    return len(pattern) < len(place) and all(wanted in REPEATED or wanted == step for wanted, step in pairs)


def _shows(sample: Sample) -> set[tuple[str, str]]:
    """The project, with each form in which this sample holds pods or containers that ask for GPUs."""
    found = set()
    for path in KINDS[sample.group, sample.kind].paths:
        for place in sample.places:
            if _leads(path.steps, place):
                forms = [part.form for part in _parts(path) if _leads((*path.steps, *steps(part.path)), place)]
                found |= {(sample.preset, form) for form in (forms if _parts(path) else [str(path.holds)])}
    return found


FEW, FEW_STORED = covering(SAMPLES, _shows), covering(STORED, _shows)
EACH = pytest.mark.parametrize("sample", parameters(SAMPLES, FEW, lambda sample: sample.name))
EACH_STORED = pytest.mark.parametrize("sample", parameters(STORED, FEW_STORED, lambda sample: sample.name))


@pytest.fixture(scope="module")
def custom(needs_control_plane: None) -> Iterator[CustomKinds]:
    with gpu_control_plane() as running:
        yield install(running, KINDS)


@pytest.fixture(scope="module")
def older(custom: CustomKinds) -> None:
    """An object of each sample that is over the limit, from before the installation."""
    for sample in STORED:
        assert custom.create(_older(sample)).status == 201


@pytest.fixture(scope="module")
def hooks(custom: CustomKinds, older: None, request: pytest.FixtureRequest) -> Iterator[LocalWebhook]:
    """The chart's configurations, with the failure policy of custom kinds that a parameter names, if any.

    The API server waits longer than by default: an entry with `Ignore` hides that the machine is busy.
    """
    policy = {"customKindsFailurePolicy": request.param} if hasattr(request, "param") else {}
    with chart_hooks(custom.running, None, {"validating": {"timeoutSeconds": 30, **policy}}) as beside:
        yield beside


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Offline:
    """The command line's result for every sample that asks for one or two GPUs at one of its places."""
    folder = tmp_path_factory.mktemp("samples")
    asked = [(sample, place, gpus) for sample in SAMPLES for place in sample.places for gpus in (1, 2)]
    for number, (sample, place, gpus) in enumerate(asked):
        (folder / f"{number:03}.json").write_text(json.dumps(sample.asking(gpus, place)))
    report = run("check", "-o", "json", "-n", "default", "-f", folder).json()
    assert report["errors"] == []
    results = report["results"]
    return {(sample.name, place, gpus): one for (sample, place, gpus), one in zip(asked, results, strict=True)}


def test_every_kind_has_definition(custom: CustomKinds) -> None:
    assert KINDS.keys() <= custom.specs.keys()


def test_samples_cover_every_path_of_presets() -> None:
    """Every path of every kind, and every place of containers that a preset names, in one of its kinds."""
    asked = {((sample.group, sample.kind), place) for sample in ALL_SAMPLES for place in sample.places}
    unasked = [
        ((kind.group, kind.kind), path.steps)
        for preset in PRESETS
        for kind in preset.kinds
        for path in kind.paths
        if not any(of == (kind.group, kind.kind) and _leads(path.steps, place) for of, place in asked)
    ]
    assert unasked == []
    for preset in PRESETS:
        paths = [(kind, path, part) for kind in preset.kinds for path in kind.paths for part in _parts(path)]
        reached = {
            part
            for kind, path, part in paths
            if any(
                of == (kind.group, kind.kind) and _leads((*path.steps, *steps(part.path)), place) for of, place in asked
            )
        }
        assert {part for _, _, part in paths} - reached == set(), preset.name


@EACH
def test_two_replicas_are_rejected(custom: CustomKinds, hooks: LocalWebhook, offline: Offline, sample: Sample) -> None:
    """At each place of the kind, with the findings that the command line shows, which also has their paths.

    Templates that other objects use are accepted with a warning.
    """
    for place in sample.places:
        answer = custom.create(sample.asking(2, place), dry=True)
        expected = _expected(offline, sample, 2, place)
        assert (answer.denials, answer.warnings) == (expected.denials, expected.warnings), place
        assert _says_too_many(answer, sample, 2), (place, answer)
        findings = offline[sample.name, place, 2]["findings"]
        assert {one["path"] for one in findings if one["code"] == "GPS001"} == {pointer(place)}


def _says_too_many(answer: Answer, sample: Sample, gpus: int) -> bool:
    """Whether the webhook rejects an amount, or warns of it where another object may choose the nodes."""
    is_denied = sample.kind not in OPEN
    said = "".join((answer.denials if is_denied else answer.warnings)[:1])
    asks = said.startswith("GPS001 ") and f'asks for {gpus} of "nvidia.com/gpu"' in said
    return asks and is_denied is (answer.status == 403)


@EACH
def test_one_replica_is_accepted(custom: CustomKinds, hooks: LocalWebhook, offline: Offline, sample: Sample) -> None:
    """At each place of the kind, after one review, with the warnings that the command line shows."""
    for place in sample.places:
        before = _reviews(hooks)
        answer = custom.create(sample.asking(1, place), dry=True)
        assert (answer.status, answer.message) == (201, "")
        assert _reviews(hooks) == before + 1
        assert answer.warnings == _expected(offline, sample, 1, place).warnings


@EACH
def test_object_without_gpu_is_not_sent(custom: CustomKinds, hooks: LocalWebhook, sample: Sample) -> None:
    before = _reviews(hooks)
    assert custom.create(sample.idle(), dry=True).status == 201
    assert _reviews(hooks) == before


def _older(sample: Sample) -> Object:
    manifest: Object = sample.asking(2)
    return manifest | {"metadata": manifest["metadata"] | {"name": f"older-{manifest['metadata']['name']}"}}


UPDATES = yaml.safe_load((Path(__file__).parent / "updates.yaml").read_text())
IMMUTABLE = {"TrainJob"}
"""The kinds whose definitions forbid to change their pods."""


@EACH_STORED
def test_update_beside_pods_is_not_sent(custom: CustomKinds, hooks: LocalWebhook, sample: Sample) -> None:
    """An object that the webhook would reject can be updated, scaled and deleted, because its pods stay the same."""
    before, manifest = _reviews(hooks), _older(sample)
    more = custom.change(manifest, [{"op": "replace", "path": pointer(sample.places[0]), "value": 3}])
    if sample.kind in IMMUTABLE:
        assert "field is immutable" in more.message
    else:
        assert _says_too_many(more, sample, 3), more
        assert _reviews(hooks) == before + 1
    before = _reviews(hooks)
    marked = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/hold"]}}
    assert custom.change(manifest, marked).status == 200
    for subresource in custom.subresources(manifest):
        body = (
            {"spec": {"replicas": 3}} if subresource == "scale" else {"status": UPDATES["status"].get(sample.kind, {})}
        )
        answer = custom.change(manifest, body, f"/{subresource}")
        assert (answer.status, answer.message) == (200, ""), subresource
    for path, value in UPDATES["beside"].get(sample.name, {}).items():
        answer = custom.change(manifest, [{"op": "add", "path": path, "value": value}])
        assert (answer.status, answer.message) == (200, ""), path
    assert _reviews(hooks) == before
    for path, value in UPDATES["within"].get(sample.name, {}).items():
        answer = custom.change(manifest, [{"op": "add", "path": path, "value": value}])
        assert (answer.status, answer.message) == (200, ""), path
    before = _reviews(hooks)
    assert custom.delete(manifest).status == 200
    assert custom.change(manifest, {"metadata": {"finalizers": None}}).status == 200
    assert custom.running.api.find(custom.path(manifest)) is None
    assert _reviews(hooks) == before


def test_suspended_job_set_over_limit_warns_and_resumes(custom: CustomKinds, hooks: LocalWebhook) -> None:
    """As with Jobs: a queue may choose whole cards for its pods, which are checked when they are created."""
    (sample,) = [sample for sample in SAMPLES if sample.kind == "JobSet"]
    manifest = sample.asking(2)
    manifest["metadata"]["name"] = "suspended"
    manifest["spec"]["suspend"] = True
    answer = custom.create(manifest)
    assert (answer.status, [warning[:6] for warning in answer.warnings]) == (201, ["GPS001"])
    before = _reviews(hooks)
    assert custom.change(manifest, {"spec": {"suspend": False}}).status == 200
    assert _reviews(hooks) == before
    assert custom.delete(manifest).status == 200


@pytest.mark.parametrize(
    "samples", [FEW_STORED, pytest.param(STORED, marks=pytest.mark.exhaustive)], ids=["few", "all"]
)
@pytest.mark.parametrize("way", ["client-side", "server-side"])
def test_apply(
    custom: CustomKinds, hooks: LocalWebhook, offline: Offline, tmp_path: Path, way: str, samples: list[Sample]
) -> None:
    """`kubectl apply` of a folder shows the message for each object that is rejected, and each warning once."""
    kubectl = custom.running.kubectl
    apply = ("apply", f"--server-side={str(way == 'server-side').lower()}", f"--filename={tmp_path}")
    rejected = [sample for sample in samples if sample.kind not in OPEN]
    _write(tmp_path, rejected, 2)
    refused = kubectl.run(*apply)
    assert (refused.returncode, refused.stdout) == (1, "")
    said = [line for line in refused.stderr.splitlines() if WARNED not in line]
    said = [
        line.partition("denied the request: ")[2] for line in said if not line.startswith("gpushare-webhook explain ")
    ]
    assert sorted(said) == sorted(_expected(offline, sample, 2).denials[0] for sample in rejected)
    _write(tmp_path, samples, 1)
    try:
        created = kubectl.run(*apply)
        assert (created.returncode, len(created.stdout.splitlines())) == (0, len(samples)), created.stderr
        warnings = {line.removeprefix(WARNED) for line in created.stderr.splitlines()}
        assert warnings == {said for sample in samples for said in _expected(offline, sample, 1).warnings}
        before = _reviews(hooks)
        again = kubectl.run(*apply)
        assert (again.returncode, again.stderr) == (0, "")
        assert _reviews(hooks) == before
    finally:
        for sample in samples:
            custom.delete(sample.manifest)


def _expected(offline: Offline, sample: Sample, gpus: int, place: Place | None = None) -> Answered:
    """The command line's verdict about an object that asks at a place, the first unless given."""
    return by_check({"results": [offline[sample.name, place or sample.places[0], gpus]]})


def _write(folder: Path, samples: list[Sample], gpus: int) -> None:
    for sample in samples:
        (folder / f"{sample.name.replace('/', '-')}.json").write_text(json.dumps(sample.asking(gpus)))


def _pipeline(tasks: int, steps: int, gpus: int = 0) -> Object:
    """A run of a pipeline whose last step asks for GPUs."""
    step = {"image": "main"}
    made = [{"name": f"task-{number}", "taskSpec": {"steps": [step] * steps}} for number in range(tasks)]
    asks = {**step, "computeResources": {"limits": {GPU: gpus}}} if gpus else step
    made[-1] = {**made[-1], "taskSpec": {"steps": [*[step] * (steps - 1), asks]}}
    head = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": {"name": "large"}}
    return {**head, "spec": {"pipelineSpec": {"tasks": made}}}


MOST_PODS = "an object may hold at most 4096 pods"
COST = "actual cost limit exceeded"
NOT_EVALUATED = "apiserver_admission_match_condition_evaluation_errors_total"


def test_object_beyond_limits_passes(custom: CustomKinds, hooks: LocalWebhook) -> None:
    """An object with more pods than the webhook checks, and one beyond the budget of the API server's conditions."""
    control, before, skipped = custom.running.control, failures(custom.running.control), _not_evaluated(custom)
    assert custom.create(_pipeline(4097, 1, 2), dry=True).status == 201
    (logged,) = failures(control).since(before).logged
    assert MOST_PODS in logged
    assert custom.create(_pipeline(300, 200, 2), dry=True).status == 201
    assert _not_evaluated(custom) > skipped
    assert failures(control).since(before).failed_open == 1


def _not_evaluated(custom: CustomKinds) -> float:
    """How many match conditions the API server could not evaluate."""
    _, _, text = custom.running.api.request("GET", "/metrics")
    return total(text.decode(), NOT_EVALUATED)


FAILED = "failed calling webhook"


@pytest.mark.parametrize("hooks", ["Ignore"], indirect=True)
def test_outage_lets_custom_objects_pass(custom: CustomKinds, hooks: LocalWebhook) -> None:
    """By default: the pods of their controllers are still rejected."""
    hooks.process.stop()
    before = failures(custom.running.control)
    for sample in SAMPLES:
        assert custom.create(sample.asking(2), dry=True).status == 201, sample.name
    assert failures(custom.running.control).since(before).failed_open == len(SAMPLES)
    assert FAILED in rejection(custom.running, pod("two", container(gpus=2)))


@pytest.mark.parametrize("hooks", ["Fail"], indirect=True)
def test_object_beyond_limits_is_rejected_where_policy_is_fail(custom: CustomKinds, hooks: LocalWebhook) -> None:
    """With GPUs or without: the webhook, or the API server, cannot find out."""
    for gpus in (0, 2):
        assert MOST_PODS in custom.create(_pipeline(4097, 1, gpus), dry=True).message
        assert COST in custom.create(_pipeline(300, 200, gpus), dry=True).message


@pytest.mark.parametrize("hooks", ["Fail"], indirect=True)
def test_outage_rejects_custom_objects_with_gpu_where_policy_is_fail(custom: CustomKinds, hooks: LocalWebhook) -> None:
    hooks.process.stop()
    for sample in SAMPLES:
        assert FAILED in custom.create(sample.asking(1), dry=True).message, sample.name
        assert custom.create(sample.idle(), dry=True).status == 201, sample.name


def _reviews(hooks: LocalWebhook) -> int:
    """How many reviews the webhook has answered."""
    return int(total(Reviewer(hooks, 0).metrics(), "gpushare_webhook_reviews_total"))
