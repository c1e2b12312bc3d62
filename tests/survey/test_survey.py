"""The survey counts what the real command line reports about repositories, and finds what it leaves out."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

from survey import checked, text
from survey.__main__ import main
from survey.checked import Object, Report
from survey.checked import Result as Checked
from survey.counts import Survey, Tally, class_of
from survey.mentions import How, Mention, Named, mentions
from survey.repositories import repositories
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings
from webhook.report.exit_codes import ExitCode

pytestmark = pytest.mark.slow

GPU = "nvidia.com/gpu"
GPUS = GpuResources(Settings().resources)

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
    - {{name: main, image: registry.example/cuda:12, resources: {{limits: {{nvidia.com/gpu: {amount}}}}}}}
"""
NOTES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {page: "Ask for nvidia.com/gpu."}
"""


def survey(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def surveyed(*arguments: object) -> Any:
    ended = survey(*arguments, "--json")
    assert ended.exit_code == ExitCode.OK
    return json.loads(ended.stdout)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two repositories: one with two pods and notes, one with a pod and a broken file."""
    folder = tmp_path / "corpus"
    one, two = folder / "one", folder / "two"
    (one / "deploy").mkdir(parents=True)
    two.mkdir()
    (one / "deploy" / "pods.yaml").write_text(
        f"{POD.format(name='single', amount=1)}---\n{POD.format(name='double', amount=2)}"
    )
    (one / "notes.yaml").write_text(NOTES)
    (two / "pod.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}))
    (two / "broken.yaml").write_text("kind: Pod\nlimits:\n  nvidia.com/gpu: @2\n")
    return folder


@pytest.fixture
def impostor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that runs instead of `gpushare-webhook`; the test writes it."""
    program = tmp_path / "gpushare-webhook"
    program.touch(stat.S_IRWXU)
    monkeypatch.setattr(checked, "PROGRAM", program)
    return program


def counts(objects: int, **others: int) -> dict[str, int]:
    zero = dict.fromkeys(("gpu", "allowed", "warned", "denied", "skipped", "silent"), 0)
    return {"objects": objects, **zero, **others}


def test_repositories_kinds_findings_reasons_and_errors_are_counted(corpus: Path) -> None:
    found = surveyed(corpus)
    assert found["repositories"] == [
        {
            "repository": "one",
            **counts(3, gpu=2, allowed=1, denied=1, skipped=1),
            "errors": 0,
            "assumed": 1,
            "failure": "",
        },
        {"repository": "two", **counts(1, allowed=1), "errors": 1, "assumed": 0, "failure": ""},
    ]
    assert found["kinds"] == [
        {"group": "", "kind": "ConfigMap", **counts(1, skipped=1)},
        {"group": "", "kind": "Pod", **counts(3, gpu=2, allowed=2, denied=1)},
    ]
    (finding,) = found["findings"]
    assert (finding["code"], finding["severity"], finding["count"], finding["objects"]) == ("GPS001", "deny", 1, 1)
    assert finding["sample"] == [
        f'{corpus}/one/deploy/pods.yaml:13 Pod double: container "main" asks for 2 of "{GPU}"; '
        "the limit is 1 where it is shared through MPS"
    ]
    (reason,) = found["reasons"]
    assert (reason["decision"], reason["count"]) == ("skipped", 1)
    assert reason["sample"] == [f"{corpus}/one/notes.yaml:1 ConfigMap notes"]
    (error,) = found["errors"]
    assert (error["all"]["count"], error["gpu"]["count"]) == (1, 1)
    assert error["gpu"]["sample"][0].startswith(f"{corpus}/two/broken.yaml:3: ")


def test_name_inside_text_is_listed_and_not_counted_as_silent(corpus: Path) -> None:
    found = surveyed(corpus)
    (notes,) = found["unchecked"]
    assert (notes["group"], notes["kind"], notes["named"], notes["count"]) == ("", "ConfigMap", How.INSIDE_TEXT, 1)
    assert notes["sample"] == [f"{corpus}/one/notes.yaml:1 ConfigMap notes at data.page"]
    assert [kind["silent"] for kind in found["kinds"]] == [0, 0]


def test_settings_decide_what_a_gpu_is(corpus: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("resources:\n  - {name: example.com/gpu, kind: shared}\n")
    found = surveyed(corpus, "--config", settings)
    assert [kind["gpu"] for kind in found["kinds"]] == [0, 0]
    assert found["findings"] == []


NO_GPU = "skipped: it requests no GPU resource"


def skipped(kind: str, name: str, reason: str = NO_GPU) -> Checked:
    return Checked("a.yaml", 1, 1, Object("example.com/v1", kind, name), "skipped", [], reason=reason)


def test_skipped_object_that_names_a_gpu_is_silent() -> None:
    asks, asks_not = skipped("Trainer", "asks"), skipped("Trainer", "asks-not")
    found = Survey(most=3)
    place = ("spec", "resources", "limits", GPU)
    found.add("one", Report([asks, asks_not], []), Named({asks.identity: Mention(How.AS_KEY, place)}))
    (objects,) = found.kinds.values()
    assert (objects.skipped, objects.gpu, objects.silent) == (2, 1, 1)
    assert {key: tally.sample for key, tally in found.unchecked.items()} == {
        ("example.com", "Trainer", How.AS_KEY, NO_GPU): [
            'a.yaml:1 Trainer asks at spec.resources.limits["nvidia.com/gpu"]'
        ]
    }
    assert "example.com/Trainer as a key:\n\n- a.yaml:1 Trainer asks at" in text.write(found)


@pytest.mark.parametrize(
    "reason",
    ["exempt: the namespace is listed in exempt.namespaces", "skipped: it gives quotas to queues and runs no pods"],
)
def test_skipped_object_with_fitting_reason_is_not_silent(reason: str) -> None:
    queue, found = skipped("Queue", "gpus", reason), Survey(most=3)
    found.add("one", Report([queue], []), Named({queue.identity: Mention(How.AS_TEXT, ("name",))}))
    assert [(one.gpu, one.silent) for one in found.kinds.values()] == [(1, 0)]
    assert list(found.unchecked) == [("example.com", "Queue", How.AS_TEXT, reason)]
    assert "example.com/Queue as a text:" not in text.write(found)


def test_finding_makes_skipped_object_not_silent() -> None:
    result = skipped("Trainer", "asks")
    result.findings.append(checked.Finding("GPS023", "warn", 4, "cannot be checked"))
    found = Survey(most=3)
    found.add("one", Report([result], []), Named({result.identity: Mention(How.AS_KEY, (GPU,))}))
    assert found.unchecked == {}
    assert [one.silent for one in found.kinds.values()] == [0]


def test_omitted_findings_are_counted() -> None:
    finding = checked.Finding("GPS001", "deny", 4, "asks for 2")
    result = Checked("a.yaml", 1, 1, Object("v1", "Pod", "many"), "denied", [finding, finding], {"GPS001": 98})
    found = Survey(most=1)
    found.add("one", Report([result], []), Named())
    assert [(one.count, one.objects, len(one.sample)) for one in found.findings.values()] == [(100, 1, 1)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"spec": {"limits": {GPU: 1}}}, [(How.AS_KEY, ("spec", "limits", GPU))]),
        ({"limits": {"nvidia.com/mig-1g.5gb": 1}}, [(How.AS_KEY, ("limits", "nvidia.com/mig-1g.5gb"))]),
        ({"gpu": {"name": GPU, "quantity": 1}}, [(How.AS_TEXT, ("gpu", "name"))]),
        ({"covered": ["cpu", GPU]}, [(How.AS_TEXT, ("covered", 1))]),
        ({"manifest": f"limits:\n  {GPU}: 1\n"}, [(How.INSIDE_TEXT, ("manifest",))]),
        ({"manifest": f'{{"{GPU}":1}}'}, [(How.INSIDE_TEXT, ("manifest",))]),
        ({"tolerations": [{"key": GPU, "operator": "Exists"}]}, []),
        ({"nodeSelector": {GPU: "true"}, "metadata": {"labels": {GPU: "true"}}}, []),
        ({"nodeSelector": {f"{GPU}.present": "true"}, "text": f"{GPU}.product example.com/{GPU}"}, []),
        ({"limits": {GPU: 0}, "requests": {GPU: "0"}, "overhead": {GPU: None}}, []),
        ({"limits": {GPU: {"min": 0}}}, [(How.AS_KEY, ("limits", GPU))]),
        ({"limits": {"cpu": 1, 2: None}, "list": [1, None, True]}, []),
    ],
)
def test_mentions(value: object, expected: object) -> None:
    assert [(mention.how, mention.path) for mention in mentions(value, GPUS)] == expected


def test_strongest_mention_counts(tmp_path: Path) -> None:
    (tmp_path / "trainer.yaml").write_text(
        f"apiVersion: example.com/v1\nkind: Trainer\nnote: about {GPU}\nlimits: {{{GPU}: 1}}\nname: {GPU}\n"
    )
    assert [kind["gpu"] for kind in surveyed(tmp_path)["kinds"]] == [1]


def test_each_folder_is_a_repository(corpus: Path) -> None:
    assert [(one.name, one.path) for one in repositories(corpus)] == [
        ("one", corpus / "one"),
        ("two", corpus / "two"),
    ]


def test_folder_with_manifests_of_its_own_is_one_repository(corpus: Path) -> None:
    (corpus / "README.md").touch()
    assert len(repositories(corpus)) == 2
    (corpus / "kustomization.yaml").touch()
    assert [(one.name, one.path) for one in repositories(corpus)] == [("corpus", corpus)]


def test_clone_is_one_repository(corpus: Path) -> None:
    (corpus / ".git").mkdir()
    assert [one.path for one in repositories(corpus)] == [corpus]


def test_crash_is_reported_with_the_repository(corpus: Path, impostor: Path) -> None:
    impostor.write_text("#!/bin/sh\necho 'internal error: KeyError: spec; please report it' >&2\nexit 3\n")
    ended = survey(corpus)
    assert ended.exit_code == ExitCode.INTERNAL_ERROR
    message = "check ends with 3: internal error: KeyError: spec; please report it"
    assert f"- one: {message}\n- two: {message}\n" in ended.stdout


def test_signal_is_reported_with_the_repository(corpus: Path, impostor: Path) -> None:
    impostor.write_text("#!/bin/sh\nkill -SEGV $$\n")
    ended = survey(corpus)
    assert ended.exit_code == ExitCode.INTERNAL_ERROR
    assert "- one: check is killed by signal 11\n" in ended.stdout


def test_output_that_is_no_report_is_reported(corpus: Path, impostor: Path) -> None:
    impostor.write_text("#!/bin/sh\necho '{\"results\": 1}'\n")
    ended = survey(corpus)
    assert ended.exit_code == ExitCode.INTERNAL_ERROR
    assert "- one: check ends with 0; no report: Expected `array`, got `int`" in ended.stdout


def test_time_per_repository_is_limited(corpus: Path, impostor: Path) -> None:
    impostor.write_text(
        '#!/bin/sh\ncase "$*" in *two*) exec sleep 60 ;; esac\necho \'{"results": [], "errors": []}\'\n'
    )
    ended = survey(corpus, "--limit", 1, "--json")
    assert ended.exit_code == ExitCode.INTERNAL_ERROR
    failures = {one["repository"]: one["failure"] for one in json.loads(ended.stdout)["repositories"]}
    assert failures == {"one": "", "two": "check takes longer than 1 s"}


def test_wrong_settings_are_refused(corpus: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("modus: enforce\n")
    ended = survey(corpus, "--config", settings)
    assert ended.exit_code == ExitCode.WRONG_INPUT
    assert ended.stderr.startswith(f'{settings}:1:1: modus: unknown key "modus"')
    assert ended.stdout == ""


def test_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    ended = survey(tmp_path)
    assert ended.exit_code == ExitCode.WRONG_INPUT
    assert f"{tmp_path}: no object in this folder; name a folder of repositories with manifests" in ended.stderr
    assert f"- {tmp_path}/one: no .json, .jsonl, .ndjson, .yaml or .yml file in this folder\n" in ended.stdout


def test_unreadable_file_is_an_error_beside_the_counts(corpus: Path) -> None:
    (corpus / "two" / "gone.yaml").symlink_to("nowhere")
    (error,) = [one for one in surveyed(corpus)["errors"] if one["message"] == "no such file or folder"]
    assert error["all"]["sample"] == [f"{corpus}/two/gone.yaml: no such file or folder"]


def test_names_cannot_break_the_tables(tmp_path: Path) -> None:
    (tmp_path / "object.yaml").write_text(
        'apiVersion: v1\nkind: "A|B\\e[2J\\n::error::"\nlimits: {nvidia.com/gpu: 1}\n'
    )
    ended = survey(tmp_path)
    assert "core/A\\|B?[2J?::error::" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert not [line for line in ended.stdout.splitlines() if line.startswith("::")]


def test_columns_are_aligned(corpus: Path) -> None:
    blocks = [block for block in survey(corpus).stdout.split("\n\n") if block.startswith("|")]
    assert len(blocks) > 3
    for block in blocks:
        assert len({len(line) for line in block.splitlines()}) == 1


def test_kinds_without_pods_share_a_row() -> None:
    found = Survey(most=3)
    found.add("one", Report([skipped("A", "a"), skipped("B", "b")], []), Named())
    assert "| other kinds (2) |       2 |" in text.write(found)


def test_sample_is_as_large_as_asked(corpus: Path) -> None:
    for number in range(8):
        (corpus / "two" / f"{number}.yaml").write_text(POD.format(name=f"pod-{number}", amount=2))
    (finding,) = surveyed(corpus, "--sample", 5)["findings"]
    assert (finding["count"], len(set(finding["sample"]))) == (9, 5)
    assert surveyed(corpus, "--sample", 5)["findings"] == [finding]
    assert "- and 4 more\n" in survey(corpus, "--sample", 5).stdout


def test_each_thing_is_equally_likely_in_a_sample() -> None:
    chance, drawn = Random(0), Counter[str]()  # noqa: S311 - a sample needs no secrecy
    for _ in range(2_000):
        tally = Tally()
        for number in range(10):
            tally.add(str(number), 2, chance)
        drawn.update(tally.sample)
    assert len(drawn) == 10
    assert all(300 < count < 500 for count in drawn.values())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('key "a" is given twice, first on line 3', 'key "b" is given twice, first on line 14'),
        ("spec.containers[0]: expected a list", "spec.containers[12]: expected a list"),
    ],
)
def test_messages_about_the_same_thing_are_of_one_class(left: str, right: str) -> None:
    assert class_of(left) == class_of(right)


def test_messages_about_different_things_are_of_different_classes() -> None:
    assert class_of("kind: expected text, found null") != class_of("apiVersion: expected text, found null")
