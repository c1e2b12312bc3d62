"""`check`: the report for people and for machines, with positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

TWO = 'asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS'

PLACES = {
    "pods.yaml": [("GPS001", 10, 34), ("GPS004", 29, 18), ("GPS005", 32, 22), ("GPS009", 22, 12)],
    "list.yaml": [("GPS001", 16, 35), ("GPS013", 23, 45)],
    "pod.json": [("GPS001", 7, 64), ("GPS009", 9, 16)],
    "list.json": [("GPS001", 7, 27)],
}
"""The findings of each file, counted by hand: code, line and column of the value."""

MPS = ("--profile", "device-plugin")
"""Names a cluster that shares GPUs through MPS, so that pods get advice about it."""


def findings(report: Any) -> list[dict[str, Any]]:
    return [finding for result in report["results"] for finding in result["findings"]]


def test_malformed_object_is_an_error_beside_results(data: Path) -> None:
    ended = run("check", "-f", "pods.yaml", "-f", "malformed.yaml", *MPS, "-o", "json", "-n", "team-a")
    report = ended.json()
    assert report["summary"] == {"objects": 3, "allowed": 0, "warned": 0, "denied": 2, "skipped": 1, "errors": 1}
    places = [(result["document"], result["line"], result["object"]["namespace"]) for result in report["results"]]
    assert places == [(1, 2, "team-a"), (2, 12, "team-a"), (3, 16, "lab")]
    assert len(findings(report)) == 4
    assert ended.err == "malformed.yaml:6:15: spec.containers: expected a list, found a mapping\n"
    assert ended.code == 2


def test_patch_equals_mutating_hook(data: Path) -> None:
    (result,) = run("check", "-f", "good.yaml", "-o", "json").json()["results"]
    volume = "gpushare-mps-nvidia-com-gpu"
    source = {"path": "/run/nvidia/mps/nvidia.com/gpu/pipe", "type": "DirectoryOrCreate"}
    variable = {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/mps/nvidia.com/gpu/pipe"}
    annotations = {
        "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": volume,
        "gpushare-webhook/injected": "runtimeClass,pipeDirectory,pipeMount,tolerations",
    }
    additions = {
        "/spec/runtimeClassName": "nvidia",
        "/spec/containers/0/env": [variable],
        "/spec/volumes": [{"name": volume, "hostPath": source}],
        "/spec/containers/0/volumeMounts": [{"name": volume, "mountPath": "/mps/nvidia.com/gpu/pipe"}],
        "/metadata/annotations": annotations,
        "/spec/tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    assert result["decision"] == "allowed"
    assert result["patch"] == [{"op": "add", "path": path, "value": value} for path, value in additions.items()]


@pytest.mark.parametrize("file", PLACES)
def test_json_positions_of_findings(data: Path, file: str) -> None:
    found = findings(run("check", "-f", file, *MPS, "-o", "json").json())
    assert [(finding["code"], finding["line"], finding["column"]) for finding in found] == PLACES[file]


@pytest.mark.parametrize("file", PLACES)
def test_text_positions_equal_json(data: Path, file: str) -> None:
    lines = run("check", "-f", file, *MPS).out.splitlines()
    found = findings(run("check", "-f", file, *MPS, "-o", "json").json())
    found.sort(key=lambda one: (one["line"], one["column"]))
    heads = [line for line in lines if line.startswith(f"{file}:")]
    assert heads == ["{}:{line}:{column}: {severity} {code} {message}".format(file, **finding) for finding in found]


FACTS = "{apiVersion: gpushare-webhook/v1, kind: Facts, nodes: []}"
SETTINGS = "{apiVersion: gpushare-webhook/v1, kind: Settings, %s}"


@pytest.mark.parametrize(
    ("file", "text", "options", "assumed"),
    [
        ("settings.yaml", SETTINGS % "profile: device-plugin", ("--config", "settings.yaml"), None),
        ("settings.yaml", SETTINGS % "limits: {perPod: 1}", ("--config", "settings.yaml"), None),
        ("settings.yaml", SETTINGS % "mode: warn", ("--config", "settings.yaml"), 2),
        (".gpushare.yaml", SETTINGS % "placement: {}", (), None),
        ("facts.yaml", FACTS, ("--facts", "facts.yaml"), None),
        ("none.yaml", "", ("--profile", "device-plugin"), None),
        ("none.yaml", "", ("--select", "GPS003"), None),
        ("none.yaml", "", (), 1),
    ],
)
def test_assumption_is_said_where_nothing_names_the_cluster(
    here: Path, file: str, text: str, options: tuple[str, ...], assumed: int | None
) -> None:
    (here / file).write_text(text)
    (here / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {hostPID: true, "
        "containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}"
    )
    report = run("check", "pod.yaml", *options, "-o", "json").json()
    left_out = {} if text or options else {"leftOut": {"GPS009": 1}}
    assert report.get("assumed") == (assumed and {"sharing": "mps", "findings": assumed, **left_out})
    text_report = run("check", "pod.yaml", *options).out
    assert ("assumed: " in text_report.splitlines()[-1]) == (assumed is not None)
    assert run("check", "pod.yaml", "-q", *options).out.count("assumed") == 0


def test_assumption_is_not_said_where_no_finding_depends_on_it(here: Path) -> None:
    (here / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
        "[{name: c, resources: {limits: {nvidia.com/gpu: 1.5}}}]}}"
    )
    ended = run("check", "pod.yaml")
    assert "GPS003" in ended.out
    assert "assumed" not in ended.out


def test_assumption_counts_findings_that_are_not_listed(here: Path) -> None:
    (here / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: ["
        + ", ".join(f"{{name: c{number}, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}" for number in range(40))
        + "]}}"
    )
    report = run("check", "pod.yaml", "--select", "GPS001", "-o", "json").json()
    assert report["assumed"]["findings"] == 40
    assert len(report["results"][0]["findings"]) < 40


@pytest.mark.parametrize(("file", "lines"), [("list.yaml", [4, 17]), ("list.json", [2, 4])])
def test_list_gives_one_result_per_item(data: Path, file: str, lines: list[int]) -> None:
    report = run("check", "-f", file, "-o", "json").json()
    assert [(result["document"], result["line"]) for result in report["results"]] == [(1, line) for line in lines]
    assert report["summary"]["objects"] == 2


def test_namespace_option_applies_to_objects_without_namespace(data: Path) -> None:
    results = run("check", "-f", "pods.yaml", "-o", "json", "-n", "kube-system").json()["results"]
    assert results[0]["reason"] == "exempt: the namespace is listed in exempt.namespaces"
    assert [(result["object"]["namespace"], result["decision"]) for result in results] == [
        ("kube-system", "allowed"),
        ("kube-system", "skipped"),
        ("lab", "denied"),
    ]
    assert run("check", "-f", "pod.json", "-o", "json").json()["results"][0]["object"]["namespace"] == ""


def test_cluster_scoped_object_is_in_no_namespace(here: Path) -> None:
    (here / "settings.yaml").write_text("namespaces: [{names: [default, team-a, team-b], mode: audit}]\n")
    (here / "runtime.yaml").write_text(
        "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, "
        "metadata: {name: torch, namespace: team-a}, spec: {template: {spec: {replicatedJobs: [{name: node, "
        "template: {spec: {template: {spec: {containers: [{name: node, resources: {limits: {nvidia.com/gpu: 2}}}]}}}}"
        "}]}}}}"
    )
    for options in ([], ["-n", "team-b"]):
        ended = run("check", "-f", "runtime.yaml", "--config", "settings.yaml", "-o", "json", *options)
        (result,) = ended.json()["results"]
        assert (result["object"]["namespace"], result["decision"]) == ("", "denied")


def test_facts_and_settings_apply(here: Path) -> None:
    (here / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
        "[{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}"
    )
    (here / "settings.yaml").write_text("limits: {perContainer: 2, perPod: 2}\n")
    (here / "facts.yaml").write_text("runtimeClasses: []\n")
    settings = ["--config", "settings.yaml"]
    assert run("check", "-f", "pod.yaml").code == 1
    assert run("check", "-f", "pod.yaml", *settings).code == 0
    informed = run("check", "-f", "pod.yaml", *settings, "--facts", "facts.yaml", "-o", "json").json()
    assert [finding["code"] for finding in findings(informed)] == ["GPS011"]
    assert "/spec/runtimeClassName" not in str(informed["results"][0]["patch"])


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("kind: Pod, metadata: {name: p, namespace: kube-system}, spec: {", "exempt: "),
        ("kind: Pod, metadata: {name: p}, spec: {os: {name: windows}, ", "exempt: "),
        ("kind: Pod, metadata: {name: p}, spec: {schedulingGates: [{name: g}], ", "gated: "),
        ("kind: Pod, metadata: {name: p, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {", "queued: "),
    ],
)
def test_text_report_counts_reasons_of_allowed_objects(here: Path, manifest: str, reason: str) -> None:
    (here / "p.yaml").write_text(f"{{apiVersion: v1, {manifest}containers: [{{name: c}}]}}}}")
    first, summary = run("check", "-f", "p.yaml").out.splitlines()
    assert first.startswith(f"1 object {reason}")
    assert summary == "1 object: 1 allowed"
    (result,) = run("check", "-f", "p.yaml", "-o", "json").json()["results"]
    assert result["reason"].startswith(reason)


USER = "[{name: c, securityContext: {runAsUser: %d}, resources: {limits: {nvidia.com/gpu: 1}}}]"


def objects_with_users(*users: int) -> str:
    return "\n---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: p{index}}}, spec: {{containers: {USER % user}}}}}"
        for index, user in enumerate(users)
    )


def test_users_of_different_objects_are_compared(here: Path) -> None:
    (here / "pods.yaml").write_text(objects_with_users(1000, 1000, 1001))
    report = run("check", "-f", "pods.yaml", *MPS, "-o", "json").json()
    assert [result["decision"] for result in report["results"]] == ["allowed", "allowed", "warned"]
    (finding,) = findings(report)
    assert finding["code"] == "GPS008"
    assert finding["path"] == "/spec/containers/0/securityContext/runAsUser"
    assert finding["message"] == 'uses MPS as user 1001, "Pod p0" as user 1000; on one node they wait for each other'


def test_users_are_compared_within_namespace_and_folder_unless_nodes_are_known(here: Path) -> None:
    first, second = objects_with_users(1000, 1001).split("\n---\n")
    for folder, text in (("a", first), ("b", second)):
        (here / folder).mkdir()
        (here / folder / "pod.yaml").write_text(text)
    (here / "pods.yaml").write_text(f"{first}\n---\n{second.replace('name: p1', 'name: p1, namespace: other')}")
    (here / "facts.yaml").write_text(FACTS)
    cluster = ("--facts", "facts.yaml")
    for inputs in (("a", "b"), ("pods.yaml",)):
        assert findings(run("check", *inputs, *MPS, "-o", "json").json()) == []
        found = findings(run("check", *inputs, *cluster, "-o", "json").json())
        assert [finding["code"] for finding in found] == ["GPS008"]


FACTS = """\
apiVersion: gpushare-webhook/v1
kind: Facts
nodes:
  - name: mps
    labels: {nvidia.com/mps.capable: "true"}
    resources: {nvidia.com/gpu: 4}
"""


@pytest.mark.parametrize(
    ("users", "settings", "codes"),
    [
        ((1000, 1000), "", []),
        ((1000, 1001), "severities: {GPS008: 'off'}", []),
        ((1000, 1001), "users: {runAsUser: 1001}", ["GPS008"]),
        ((1000, 1001), "placement: {mpsLabels: {}}\nresources: [{name: nvidia.com/gpu, kind: whole}]", []),
    ],
)
def test_users_of_objects_follow_settings(here: Path, users: tuple[int, ...], settings: str, codes: list[str]) -> None:
    (here / "pods.yaml").write_text(objects_with_users(*users))
    (here / "settings.yaml").write_text(settings)
    report = run("check", "-f", "pods.yaml", "--config", "settings.yaml", "-o", "json").json()
    assert [finding["code"] for finding in findings(report)] == codes


def test_misspelt_kind_is_named_once_in_text(here: Path) -> None:
    spec = "{containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}"
    text = f"apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {{name: d}}\nspec: {{template: {{spec: {spec}}}}}\n"
    (here / "a.yaml").write_text(text)
    out = run("check", "a.yaml").out
    assert out.count("did you mean") == 1
    assert "does not check" not in out
    assert "did you mean" in run("check", "a.yaml", "-o", "json").json()["results"][0]["reason"]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("spec:\n  # first\n  containers:\n  - {}", ["a.yaml:4:1: warn GPS009 ", "   4 | spec:", "    Pod p at /spec"]),
        ("spec: {containers: [{}]}", ["a.yaml:4:7: warn GPS009 ", "   4 | spec: {", "     |       ^"]),
    ],
    ids=["block", "flow"],
)
def test_missing_field_is_shown_at_key(here: Path, spec: str, shown: list[str]) -> None:
    (here / "settings.yaml").write_text("users: {hostIPC: required}")
    container = "{name: c, resources: {limits: {nvidia.com/gpu: 1}}}"
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n{spec.replace('{}', container)}\n"
    (here / "a.yaml").write_text(text)
    lines = run("check", "a.yaml", "--config", "settings.yaml").out.splitlines()
    assert [line[: len(start)] for line, start in zip(lines, shown, strict=False)] == shown
    ((finding),) = findings(run("check", "a.yaml", "--config", "settings.yaml", "-o", "json").json())
    assert (finding["line"], finding["column"]) == ((6, 3) if "first" in spec else (4, 7))


HAMI = (
    "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {gpu-memory: '1'}}, spec: {containers: "
    "[{name: c, resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 3000}}}]}}"
)


@pytest.mark.parametrize("settings", ["mode: enforce", "severities: {GPS001: deny}", "profile: device-plugin"])
def test_marker_of_another_scheduler_lowers_nothing_where_there_are_settings(here: Path, settings: str) -> None:
    (here / "pod.yaml").write_text(HAMI)
    assert run("check", "pod.yaml").code == 0
    (here / "settings.yaml").write_text(settings)
    (here / "facts.yaml").write_text(FACTS)
    assert run("check", "pod.yaml", "--config", "settings.yaml").code == 1
    assert run("check", "pod.yaml", "--profile", "device-plugin").code == 1
    assert run("check", "pod.yaml", "--facts", "facts.yaml").code == 1
    assert run("mutate", "pod.yaml").code == 1, "mutate never edits a pod that another scheduler may manage"


def test_users_of_objects_in_the_default_namespace_are_compared(here: Path) -> None:
    first, second = objects_with_users(1000, 2000).split("\n---\n")
    second = second.replace("metadata: {", "metadata: {namespace: default, ")
    (here / "pods.yaml").write_text(f"{first}\n---\n{second}")
    assert [one["code"] for one in findings(run("check", "pods.yaml", *MPS, "-o", "json").json())] == ["GPS008"]
