"""pre-commit itself runs the hooks of this repository. It comes from a package registry."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.integrations.conftest import GIT, POD
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow

PATIENCE = 600
PRE_COMMIT = "pre-commit==4.7.0"


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an author who has installed pre-commit."""
    folder = tmp_path_factory.mktemp("pre-commit")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, timeout=PATIENCE)
    install = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", PRE_COMMIT]
    subprocess.run(install, check=True, timeout=PATIENCE)
    path = f"{folder}/venv/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PRE_COMMIT_HOME": str(folder / "cache")}


def configure(repository: Path, source: Path, hook: str) -> None:
    revision = subprocess.check_output([*GIT, "rev-parse", "HEAD"], cwd=source, text=True, timeout=20).strip()
    hooks = {"repos": [{"repo": str(source), "rev": revision, "hooks": [{"id": hook}]}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(hooks))


def run(repository: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run all hooks on all committed and staged files."""
    subprocess.run([*GIT, "add", "--all"], cwd=repository, check=True, timeout=20)
    ended = subprocess.run(
        ["pre-commit", "run", "--all-files", "--color=never"],
        cwd=repository,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return ended.returncode, ended.stdout


def test_hooks_name_committed_command() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["gpushare-check", "gpushare-check-system"]
    assert [hook["entry"] for hook in hooks] == [
        "python -I -m webhook check --force-exclude --no-facts-from-inputs",
        "gpushare-webhook check --force-exclude --no-facts-from-inputs",
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("hook", ["gpushare-check", "gpushare-check-system"])
def test_pre_commit_runs_hook(repository: Path, source: Path, environment: dict[str, str], hook: str) -> None:
    configure(repository, source, hook)
    code, out = run(repository, environment)
    assert code == 0, out
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    code, out = run(repository, environment)
    assert code == 1
    assert "apps/two.yaml:11:27: deny GPS001" in out
    assert "chart/templates" not in out


@pytest.mark.exhaustive
@pytest.mark.parametrize("hook", ["gpushare-check", "gpushare-check-system"])
@pytest.mark.parametrize("name", ["--config=lenient.yaml", "--baseline=x.yaml", "-oyaml=report.yaml", "-q.json"])
def test_file_becomes_no_option_of_hook(
    repository: Path, source: Path, environment: dict[str, str], hook: str, name: str
) -> None:
    configure(repository, source, hook)
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    (repository / "lenient.yaml").write_text("limits: {perContainer: 2, perPod: 2}\n")
    (repository / name).write_text("{}\n")
    code, out = run(repository, environment)
    assert code == 1, out
    assert f'Error: "{name}" is a file here; rename it' in out
    assert not (repository / "report.yaml").exists()


@pytest.mark.exhaustive
def test_hook_runs_no_code_of_checkout(repository: Path, source: Path, environment: dict[str, str]) -> None:
    configure(repository, source, "gpushare-check")
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    folder = repository / "src"
    # pre-commit itself does not get far with modules of these names, if it imports them.
    for name in ("webhook", "msgspec"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"open({str(repository / 'ran')!r}, 'w')\n")
    code, out = run(repository, environment | {"PYTHONPATH": "src"})
    assert (code, "apps/two.yaml:11:27: deny GPS001" in out) == (1, True), out
    assert not (repository / "ran").exists()
