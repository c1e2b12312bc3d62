"""The step of the GitHub Action runs as the runner runs it: its script, its variables, its files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.conftest import POD
from tests.project.repository import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
(STEP,) = ACTION["runs"]["steps"]
PATIENCE = 600


@dataclass(frozen=True)
class Ended:
    """How the step ended: its exit status, what it printed, and what it wrote for the runner."""

    code: int
    out: str
    outputs: str
    summary: str


def test_action_passes_every_input_as_variable() -> None:
    passed = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value) for name, value in STEP["env"].items()}
    assert {name: found and found[1] for name, found in passed.items()} == {
        f"INPUT_{name.upper().replace('-', '_')}": name for name in ACTION["inputs"]
    }
    assert "${{" not in STEP["run"]


def test_script_reads_every_input() -> None:
    script = (ROOT / "integrations/github/check.sh").read_text()
    assert set(re.findall(r"\$(INPUT_\w+)", script)) == set(STEP["env"])


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """The folder that the runner gives to a step."""
    folder = tmp_path / "runner temp"
    folder.mkdir()
    return folder


def step(repository: Path, source: Path, runner: Path, **inputs: str) -> Ended:
    """Run the step with inputs. It gets the default of any other input."""
    given = {name: one["default"] for name, one in ACTION["inputs"].items()} | {"python": sys.executable} | inputs
    variables = {f"INPUT_{name.upper().replace('-', '_')}": value for name, value in given.items()}
    files = {name: runner / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.touch()
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEP["run"]],
        cwd=repository,
        env=os.environ
        | variables
        | {name: str(file) for name, file in files.items()}
        | {"GITHUB_ACTION_PATH": str(source), "RUNNER_TEMP": str(runner), "GITHUB_ACTIONS": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, *(file.read_text() for file in files.values()))


@pytest.mark.slow
def test_step_annotates_denied_pod(repository: Path, source: Path, runner: Path) -> None:
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    ended = step(repository, source, runner, sarif="gpushare.sarif")
    assert (ended.code, ended.outputs) == (1, "exit-code=1\n"), ended.out
    assert re.search(r"^::error file=apps/two\.yaml,line=11,col=27,.*title=GPS001", ended.out, re.MULTILINE)
    assert "    ./apps/two.yaml:11:27: deny GPS001" in ended.summary
    assert {line[:4] for line in ended.summary.splitlines()} == {"    "}
    (run,) = json.loads((repository / "gpushare.sarif").read_text())["runs"]
    assert [found["ruleId"] for found in run["results"]] == ["GPS001"]


@pytest.mark.slow
def test_step_follows_inputs(repository: Path, source: Path, runner: Path) -> None:
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    (repository / "lenient settings.yaml").write_text("limits: {perContainer: 2, perPod: 2}\n")
    ended = step(repository, source, runner, config="lenient settings.yaml", paths="apps/right.yaml\napps/two.yaml\n")
    assert (ended.code, ended.outputs) == (0, "exit-code=0\n"), ended.out
    ended = step(repository, source, runner, exclude="two.yaml\n")
    assert ended.code == 0, ended.out


@pytest.mark.slow
def test_step_does_not_run_text_of_inputs(repository: Path, source: Path, runner: Path) -> None:
    ended = step(repository, source, runner, paths="$(touch ran); `touch ran`; apps/right.yaml")
    assert ended.code == 2
    assert list(repository.rglob("ran")) == []
