"""The recipes of the page on pull requests, in a change whose author wants it to pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.conftest import GIT, POD, commit
from tests.integrations.github_step import step
from tests.project import page_shell
from tests.project.pages import page_block
from tests.project.repository import ROOT, blocks

PAGE = "docs/how-to/check-pull-requests.md"
OLD = """\
{"kind": "CheckReport", "results": [{"file": "manifests/old.yaml",
 "object": {"apiVersion": "v1", "kind": "Pod", "namespace": "", "name": "old"},
 "findings": [{"code": "GPS001", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"}]}]}
"""


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, timeout=60, capture_output=True)


@pytest.fixture
def request_of_stranger(tmp_path: Path) -> Path:
    """A clone with the change of a stranger, which asks for two replicas and rewrites what decides about them."""
    target, change = tmp_path / "target", tmp_path / "change"
    (target / "manifests").mkdir(parents=True)
    (target / "settings.yaml").write_text("mode: enforce\n")
    (target / "facts.yaml").write_text("runtimeClasses: [{name: nvidia, handler: nvidia}]\n")
    (target / "gpushare-baseline.json").write_text(OLD)
    (target / "manifests" / "old.yaml").write_text(POD.format(name="old", replicas=2))
    (target / "manifests" / "pod.yaml").write_text(POD.format(name="train", replicas=1))
    commit(target)
    git(tmp_path, "clone", "--quiet", str(target), str(change))
    (change / "manifests" / "pod.yaml").write_text(POD.format(name="train", replicas=2))
    for name in ("settings.yaml", ".gpushare.yaml"):
        (change / name).write_text("mode: audit\n")
    (change / "facts.yaml").write_text("nodes: [{name: a, allocatable: {nvidia.com/gpu: 8}}]\n")
    (change / "gpushare-baseline.json").unlink()
    (change / "gpushare-baseline.json").symlink_to("../victim")
    git(change, "add", "--all")
    git(change, "commit", "--quiet", "--message=Ask for more")
    git(change, "tag", "origin/main")  # git prefers a tag to a branch, and a fetch of everything brings tags
    (tmp_path / "victim").write_text("belongs to the runner\n")
    return change


def test_commands_check_change_by_files_of_target_branch(request_of_stranger: Path, tmp_path: Path) -> None:
    block = page_block("docs/how-to/check-pull-requests.md", "git show refs/remotes/origin/main")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (ran,) = page_shell.run([block], request_of_stranger, tmp_path / "record", ["bash"], environment)
    assert ran.exits == [1]
    assert "manifests/pod.yaml:11:27: deny GPS001" in ran.out
    assert "2 objects: 1 allowed, 1 denied" in ran.out
    assert (tmp_path / "victim").read_text() == "belongs to the runner\n"


def workflow() -> dict[str, Any]:
    """The workflow of the page."""
    (found,) = [content for language, content in blocks(ROOT / PAGE) if language == "yaml"]
    loaded: dict[str, Any] = yaml.safe_load(found)
    return loaded


@pytest.mark.slow
@pytest.mark.exhaustive
def test_workflow_checks_change_by_files_of_target_branch(
    request_of_stranger: Path, source: Path, runner: Path, tmp_path: Path
) -> None:
    # The clone stands for that of actions/checkout, which needs GitHub.
    _, show, check = workflow()["jobs"]["gpus"]["steps"]
    variables = {"GITHUB_BASE_REF": "main", "RUNNER_TEMP": str(runner)}
    shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", show["run"]]
    subprocess.run(shell, cwd=request_of_stranger, env=os.environ | variables, check=True, timeout=60)
    inputs = {name: value.replace("${{ runner.temp }}", str(runner)) for name, value in check["with"].items()}
    ended = step(request_of_stranger, source, runner, None, **inputs)
    assert (ended.code, ended.outputs) == (1, "exit-code=1\n"), ended.out
    assert "::error file=manifests/pod.yaml,line=11,col=27" in ended.out
    assert "2 objects: 1 allowed, 1 denied" in ended.summary
    assert (tmp_path / "victim").read_text() == "belongs to the runner\n"


def test_workflow_gives_change_no_rights() -> None:
    """What GitHub's documentation asks of a workflow that a stranger can start."""
    document = workflow()
    assert document["permissions"] == {"contents": "read"}
    checkout, show, check = document["jobs"]["gpus"]["steps"]
    assert checkout["with"]["persist-credentials"] is False
    assert "${{" not in show["run"]
    assert check["with"]["fail-on"] == "unread"
