"""The step of the GitHub action, run as the runner runs it: its script, its variables, its files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

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


def step(
    repository: Path, source: Path, runner: Path, environment: Mapping[str, str] | None = None, **inputs: str
) -> Ended:
    """Run the step with inputs, and with variables that its workflow sets. It gets the default of any other input."""
    inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
    given = {name: one["default"] for name, one in ACTION["inputs"].items()} | {"python": sys.executable} | inputs
    variables = {f"INPUT_{name.upper().replace('-', '_')}": value for name, value in given.items()}
    files = {name: runner / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.touch()
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEP["run"]],
        cwd=repository,
        env=os.environ
        | (environment or {})
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
