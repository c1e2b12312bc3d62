"""The commands of the page on pull requests, in a repository with a target branch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integrations.conftest import GIT, POD, commit
from tests.project import page_shell
from tests.project.pages import page_block


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, timeout=60, capture_output=True)


def test_settings_come_from_target_branch(tmp_path: Path) -> None:
    target, request = tmp_path / "target", tmp_path / "request"
    (target / "manifests").mkdir(parents=True)
    (target / "settings.yaml").write_text("mode: enforce\n")
    (target / "facts.yaml").write_text("runtimeClasses: [{name: nvidia, handler: nvidia}]\n")
    (target / "manifests" / "pod.yaml").write_text(POD.format(name="train", replicas=1))
    commit(target)
    git(tmp_path, "clone", "--quiet", str(target), str(request))
    (request / "manifests" / "pod.yaml").write_text(POD.format(name="train", replicas=2))
    (request / "settings.yaml").write_text("mode: audit\n")
    block = page_block("docs/how-to/check-pull-requests.md", "git show origin/main")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (ran,) = page_shell.run([block], request, tmp_path / "record", ["bash"], environment)
    assert ran.exits == [1]
    assert "manifests/pod.yaml:11:27: deny GPS001" in ran.out
