"""The step of the GitHub Action runs as the runner runs it: its script, its variables, its files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.integrations.conftest import POD
from tests.integrations.github_step import ACTION, STEP, step
from tests.project.pages import pages
from tests.project.repository import ROOT

TIME_SLICING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: device-plugin}
data:
  default: "{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}}"
"""
"""A configuration of the device plugin with which a pod may ask for two replicas."""

LENIENT = "limits: {perContainer: 2, perPod: 2}\n"


def test_action_passes_every_input_as_variable() -> None:
    passed = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value) for name, value in STEP["env"].items()}
    assert {name: found and found[1] for name, found in passed.items()} == {
        f"INPUT_{name.upper().replace('-', '_')}": name for name in ACTION["inputs"]
    }
    assert "${{" not in STEP["run"]


def test_script_reads_every_input() -> None:
    script = (ROOT / "integrations/github/check.sh").read_text()
    assert set(re.findall(r"\$(INPUT_\w+)", script)) == set(STEP["env"])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_step_annotates_denied_pod(repository: Path, source: Path, runner: Path) -> None:
    (repository / "apps" / "plugin.yaml").write_text(TIME_SLICING)
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    ended = step(repository, source, runner, sarif="gpushare.sarif")
    assert (ended.code, ended.outputs) == (1, "exit-code=1\n"), ended.out
    assert re.search(r"^::error file=apps/two\.yaml,line=11,col=27,.*title=GPS001", ended.out, re.MULTILINE)
    assert "    ./apps/two.yaml:11:27: deny GPS001" in ended.summary
    assert {line[:4] for line in ended.summary.splitlines()} == {"    "}
    (run,) = json.loads((repository / "gpushare.sarif").read_text())["runs"]
    assert [found["ruleId"] for found in run["results"]] == ["GPS001"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_step_follows_inputs(repository: Path, source: Path, runner: Path) -> None:
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    (repository / "lenient settings.yaml").write_text(LENIENT)
    ended = step(repository, source, runner, config="lenient settings.yaml", paths="apps/right.yaml\napps/two.yaml\n")
    assert (ended.code, ended.outputs) == (0, "exit-code=0\n"), ended.out
    ended = step(repository, source, runner, exclude="two.yaml\n")
    assert ended.code == 0, ended.out


@pytest.mark.slow
@pytest.mark.exhaustive
def test_step_does_not_run_text_of_inputs(repository: Path, source: Path, runner: Path) -> None:
    ended = step(repository, source, runner, paths="$(touch ran); `touch ran`; apps/right.yaml")
    assert ended.code == 2
    assert list(repository.rglob("ran")) == []


HOSTILE = """
import os, sys
open(os.path.join({repository!r}, "ran"), "a").write(__name__ + " ")
"""
MODULES = "venv pip ensurepip logging encodings sitecustomize usercustomize webhook click yaml start".split()


def plant(repository: Path) -> dict[str, str]:
    """Commit to a repository what could run. Return variables that lead there, as some workflows set them."""
    code = HOSTILE.format(repository=str(repository))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    user_site = repository / "lib" / version / "site-packages"
    user_site.mkdir(parents=True)
    (user_site / "hostile.pth").write_text(f"import os; exec({code!r})\n")
    for name in MODULES:
        (repository / f"{name}.py").write_text(code)
        (repository / name).mkdir()
        (repository / name / "__init__.py").write_text(code)
        (repository / name / "__main__.py").write_text(code)
    nowhere = repository / "nowhere"
    (repository / "pip.conf").write_text(f"[global]\nindex-url = file://{nowhere}\nfind-links =\n")
    (repository / "setup.cfg").write_text(f"[install]\nprefix = {nowhere}\n")
    (repository / "pyvenv.cfg").write_text(f"home = {nowhere}\n")
    return {
        "PYTHONPATH": ".",
        "PYTHONUSERBASE": str(repository),
        "PYTHONSTARTUP": "start.py",
        "PYTHONPYCACHEPREFIX": "cache",
        "PIP_CONFIG_FILE": "pip.conf",
    }


@pytest.mark.slow
@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("has_variables", [True, False], ids=["variables lead to the checkout", "plain"])
def test_step_runs_no_code_and_takes_no_option_from_checkout(
    repository: Path, source: Path, runner: Path, has_variables: bool
) -> None:
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    for name in ("--config=evil.yaml", "--fail-on=never", "-oyaml=report.yaml"):
        (repository / name).write_text(LENIENT)
    variables = plant(repository)
    paths = "apps/two.yaml\n--config=evil.yaml\n--fail-on=never\n-oyaml=report.yaml\n"
    ended = step(repository, source, runner, variables if has_variables else None, paths=paths)
    assert "title=GPS001" in ended.out, ended.out
    assert not (repository / "ran").exists(), (repository / "ran").read_text()
    # 2: the step reads files with the names of options as manifests, and finds no object in them.
    assert (ended.code, ended.outputs) == (2, "exit-code=2\n"), ended.out
    assert not (repository / "report.yaml").exists()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_step_discovers_settings_only_where_input_is_true(repository: Path, source: Path, runner: Path) -> None:
    (repository / "apps" / "two.yaml").write_text(POD.format(name="two", replicas=2))
    (repository / ".gpushare.yaml").write_text("mode: audit\n")
    (repository / "lenient.yaml").write_text(LENIENT)
    ended = step(repository, source, runner, {"GPUSHARE_CONFIG": "lenient.yaml"}, paths="apps")
    assert (ended.code, ended.outputs) == (1, "exit-code=1\n"), ended.out
    assert "::notice title=gpushare-webhook check::the default settings apply" in ended.out
    ended = step(repository, source, runner, paths="apps", discover_settings="true")
    assert ended.code == 0, ended.out
    assert "(settings: .gpushare.yaml, found in this repository)" in ended.summary


@pytest.mark.parametrize("value", ["", "True", "yes", "true\ntrue"])
def test_step_refuses_other_words_than_true_and_false(repository: Path, runner: Path, value: str) -> None:
    ended = step(repository, ROOT, runner, discover_settings=value)
    assert (ended.code, ended.outputs) == (2, "exit-code=2\n")
    assert ended.out == "::error title=gpushare-webhook check::discover-settings is neither true nor false\n"


def test_step_says_that_python_cannot_be_used(repository: Path, runner: Path) -> None:
    (repository / "python").write_text(f"#!/bin/sh\ntouch '{repository}/ran'\n")
    (repository / "python").chmod(0o755)
    ended = step(repository, ROOT, runner, python="./python")
    assert (ended.code, ended.outputs) == (2, "exit-code=2\n")
    assert "::error title=gpushare-webhook check::the libraries cannot be installed" in ended.out
    assert not (repository / "ran").exists()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_step_installs_no_library_with_another_digest(repository: Path, source: Path, runner: Path) -> None:
    wheels = runner.parent / "wheels"  # pip takes a path with a space for two
    wheels.mkdir()
    locked = re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "integrations/requirements.txt").read_text(), re.MULTILINE)
    for name, version in locked:
        counterfeit(wheels, name.replace("-", "_"), version, HOSTILE.format(repository=str(repository)))
    ended = step(repository, source, runner, {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)})
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in ended.out, ended.out
    assert (ended.code, ended.outputs) == (2, "exit-code=2\n")
    assert not (repository / "ran").exists()


def counterfeit(folder: Path, name: str, version: str, code: str) -> None:
    """Write a wheel with the name and version of a library, and other content."""
    metadata = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", code)
        archive.writestr(f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{metadata}/RECORD", f"{name}/__init__.py,,\n")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_libraries_of_step_suffice_for_command_line(repository: Path, source: Path, runner: Path) -> None:
    (repository / "settings.yaml").write_text(LENIENT)
    (repository / "facts.yaml").write_text("runtimeClasses: [{name: nvidia, handler: nvidia}]\n")
    (repository / "baseline.json").write_text('{"kind": "CheckReport", "results": []}')
    ended = step(
        repository,
        source,
        runner,
        paths="apps",
        config="settings.yaml",
        facts="facts.yaml",
        baseline="baseline.json",
        sarif="gpushare.sarif",
    )
    assert ended.code == 0, ended.out
    (python,) = runner.glob("gpushare-check.*/bin/python")
    program = [str(python), "-I", str(source / "integrations/github/start.py")]
    for command in (
        ("mutate", "apps/right.yaml", "-o", "diff"),
        ("check", "apps/right.yaml", "-o", "yaml"),
        ("explain", "GPS001"),
        ("config", "view"),
        ("config", "schema"),
        ("version",),
    ):
        ran = subprocess.run(
            [*program, *command], cwd=repository, capture_output=True, text=True, timeout=60, check=False
        )
        assert (ran.returncode, ran.stderr.count("error")) == (0, 0), ran.stderr


def test_pages_name_actions_by_digest() -> None:
    """A tag can be moved to other code. COMMIT stands for the reader's own choice of this repository."""
    used = [(page.name, word) for page in pages() for word in re.findall(r"- uses: (\S+)", page.read_text())]
    assert len(used) >= 5
    form = re.compile(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}|PATH/TO/gpushare-webhook@COMMIT")
    assert [(page, word) for page, word in used if not form.fullmatch(word)] == []
