"""A repository as a user of the integrations has one, and a committed copy of this one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project.repository import ROOT

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  containers:
    - name: main
      image: registry.example/cuda:12
      resources:
        limits:
          nvidia.com/gpu: {replicas}
"""
GIT = ("git", "-c", "user.name=author", "-c", "user.email=author@example.com", "-c", "init.defaultBranch=main")


def commit(folder: Path) -> None:
    """Commit everything in a folder, which becomes a repository."""
    for command in (("init",), ("add", "--all"), ("commit", "--quiet", "--message=All")):
        subprocess.run([*GIT, *command], cwd=folder, check=True, timeout=60, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A committed repository with a right pod, a chart's template, and the values of the chart."""
    folder = tmp_path / "manifests of a team"
    (folder / "chart" / "templates").mkdir(parents=True)
    (folder / "apps").mkdir()
    (folder / "apps" / "right.yaml").write_text(POD.format(name="right", replicas=1))
    (folder / "chart" / "Chart.yaml").write_text("{apiVersion: v2, name: train, version: 3.2.1}\n")
    (folder / "chart" / "values.yaml").write_text("replicas: 2\n")
    template = POD.format(name="{{ .Release.Name }}", replicas="{{ .Values.replicas }}")
    (folder / "chart" / "templates" / "pod.yaml").write_text(template)
    commit(folder)
    return folder


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed copy of this repository, without what is built in it."""
    folder = tmp_path_factory.mktemp("source") / "gpushare-webhook"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True, timeout=20)
    for path in filter(None, listed.split("\0")):
        if (ROOT / path).is_symlink() or (ROOT / path).exists():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
    commit(folder)
    return folder


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """The folder that the runner gives to a step."""
    folder = tmp_path / "runner temp"
    folder.mkdir()
    return folder
