"""Amounts of GPUs in values from which programs make pods: where `check` finds them, and how it reports them."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

GPU = "nvidia.com/gpu"
PATCH = "[[runners]]\n[[runners.kubernetes.pod_spec]]\npatch = '''\nlimits:\n  nvidia.com/gpu: 2\n'''\n"
SPAWNER = 'c.KubeSpawner.extra_resource_limits = {"nvidia.com/gpu": "2"}\n'
HUB = {
    "hub": {"resources": {"limits": {GPU: 2}}},  # of a Deployment, which helm renders
    "singleuser": {
        "extraResource": {"limits": {GPU: 1}, "guarantees": {}},
        "profileList": [{"kubespawner_override": {"extra_resource_limits": {GPU: "2"}}}],
    },
}
OF_HUB = [
    ("/singleuser/extraResource/limits/nvidia.com~1gpu", "JupyterHub starts by this value asks for 1 of"),
    (
        "/singleuser/profileList/0/kubespawner_override/extra_resource_limits/nvidia.com~1gpu",
        "JupyterHub starts by this value asks for 2 of",
    ),
]
RESOURCES = {"resources": {"limits": {GPU: 2}}}
VALUES: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "JupyterHub": (HUB, OF_HUB),
    "JupyterHub in a chart of charts": ({"basehub": HUB}, [(f"/basehub{path}", said) for path, said in OF_HUB]),
    "KubeSpawner in Python": (
        {"hub": {"extraConfig": {"gpu": SPAWNER}}},
        [("/hub/extraConfig/gpu", "gives pods that JupyterHub starts")],
    ),
    "Dask Gateway": (
        {"gateway": {"backend": {"worker": {"extraContainerConfig": RESOURCES}}}},
        [("/gateway/backend/worker/extraContainerConfig/resources/limits/nvidia.com~1gpu", "Dask Gateway starts")],
    ),
    "GitLab Runner": ({"runners": {"config": PATCH}}, [("/runners/config", "gives pods that GitLab Runner starts")]),
    "Airflow": (
        {"podTemplate": f"kind: Pod\n{GPU}: {{{{ .Values.gpus }}}}\n"},
        [("/podTemplate", "gives pods that Airflow starts")],
    ),
    "Dagster": (
        {"k8sRunLauncher": {"runK8sConfig": {"containerConfig": RESOURCES}}},
        [("/k8sRunLauncher/runK8sConfig/containerConfig/resources/limits/nvidia.com~1gpu", "that Dagster starts")],
    ),
    "ClearML": (
        {"agentk8sglue": {"basePodTemplate": {"resources": {"limits": {GPU: "{{ gpus }}"}}}}},
        [("/agentk8sglue/basePodTemplate/resources/limits/nvidia.com~1gpu", "by this value asks for an amount of")],
    ),
    "chart that starts no pods": ({"extraResource": {}, "resources": {"limits": {GPU: 2}}}, []),
}


def found(*words: str) -> list[tuple[str, str]]:
    """The paths and messages of the findings, all of them warnings of GPS023."""
    ended = run("check", *words, "-o", "json")
    assert ended.code == 0, ended.err
    findings = [one for result in ended.json()["results"] for one in result["findings"]]
    assert {(one["code"], one["severity"]) for one in findings} <= {("GPS023", "warn")}
    return [(one["path"], one["message"]) for one in findings]


def agree(findings: list[tuple[str, str]], expected: list[tuple[str, str]]) -> bool:
    return [path for path, _ in findings] == [path for path, _ in expected] and all(
        words in message for (_, message), (_, words) in zip(findings, expected, strict=True)
    )


@pytest.mark.parametrize("case", VALUES)
def test_amount_is_found_in_values_and_in_secret(here: Path, case: str) -> None:
    values, expected = VALUES[case]
    (here / "x.values.yaml").write_text(json.dumps(values))
    assert agree(found("x.values.yaml"), expected)
    assert agree(found("."), expected)
    (here / "x.values.yaml").unlink()
    (here / "secret.json").write_text(secret(json.dumps(values)))
    assert agree(found("."), expected)


def secret(text: str) -> str:
    data = {"values.yaml": b64encode(text.encode()).decode(), "key": "/+8=", "odd": "=", "none": None}
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub"}, "data": data})


def test_secret_with_a_program_is_found_and_not_shown(here: Path) -> None:
    text = f"token = 'hunter2'\n{SPAWNER}"
    (here / "secret.json").write_text(secret(text))
    assert agree(found("secret.json"), [("/values.yaml", "gives pods that JupyterHub starts")])
    for form in ("text", "json", "sarif", "github", "junit"):
        out = run("check", "secret.json", "-o", form).out
        assert "GPS023" in out
        assert b64encode(text.encode()).decode()[:8] not in out
        assert "hunter2" not in out


def test_folders_that_name_gpus_are_proposed_first(here: Path) -> None:
    for number in range(8):
        chart = here / f"chart-{number}"
        chart.mkdir()
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text(f"resources: {{limits: {{{GPU}: 1}}}}\n" if number > 5 else "a: 1\n")
    overlay = here / "overlay"
    overlay.mkdir()
    (overlay / "kustomization.yaml").write_text("resources: [x.yaml, 'https://example.test/base']\n")
    (overlay / "x.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{x: {GPU}}}\n")
    out = run("check", ".").out
    commands = [f"helm template ./chart-{number}" for number in (6, 7, 0, 1)]
    commands.insert(2, "kubectl kustomize ./overlay")
    proposed = [f"  {command} | gpushare-webhook check -\n" for command in commands]
    assert f"To check what is not read:\n{''.join(proposed)}\n" in out
