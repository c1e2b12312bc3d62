"""gpushare-check as installed: its size, its commands, and the same answers as those of the full distribution."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixture import Fixture, Json, load_all
from tests.light.environments import Environment, installed
from tests.project.repository import ROOT, project, tracked
from tests.project.test_build import canonical
from webhook import __version__
from webhook.cli import COMMANDS

pytestmark = pytest.mark.slow

MOST_BYTES = 20_000_000
"""The bar: all that pip installs, byte code included."""

MISSING = ("snapshot", "serve")
"""The commands that only the full distribution contains."""

DRIVER = ROOT / "tests" / "light" / "driver.py"


def names(environment: Environment) -> set[str]:
    """The canonical names of the installed distributions."""
    return {canonical(one["name"]) for one in json.loads(environment.pip("list", "--format=json"))}


def answers(python: Path | str, commands: list[list[str]], folder: Path) -> list[list[Any]]:
    """The exit code, output and error output of commands of the distribution that an interpreter has."""
    (folder / "commands.json").write_text(json.dumps(commands))
    subprocess.run([str(python), "-I", str(DRIVER), "commands.json", "ended.json"], cwd=folder, check=True, timeout=300)
    ended: list[list[Any]] = json.loads((folder / "ended.json").read_text())
    return ended


def write(folder: Path, content: Json) -> str:
    """Write a new file. Return its name."""
    file = folder / f"{len(list(folder.iterdir())):05}.json"
    file.write_text(json.dumps(content))
    return file.name


def options(fixture: Fixture, folder: Path) -> list[str]:
    """The options that name the fixture's object, settings and facts, written as files."""
    given = {"--filename": fixture.object, "--config": fixture.settings, "--facts": fixture.facts}
    named = [(name, write(folder, content)) for name, content in given.items() if content is not None]
    return [word for one in (*named, ("--namespace", fixture.namespace)) for word in one if one[1]]


def test_size(light: Environment) -> None:
    files = [file for file in light.packages.rglob("*") if file.is_file()]
    assert [file for file in files if file.suffix == ".pyc"]
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


def test_no_library_of_server(light: Environment) -> None:
    wanted = set(map(canonical, project()["project"]["dependencies"]))
    assert names(light) & wanted == {"click", "jsonpatch", "msgspec", "pydantic", "pyyaml"}
    assert light.pip("check") == "No broken requirements found.\n"


def test_commands_run(light: Environment) -> None:
    for name in COMMANDS.keys() - set(MISSING):
        shown = light.run("gpushare-webhook", name, "--help")
        assert (shown.returncode, shown.stderr) == (0, "")
    assert light.run("kubectl-gpushare", "version").stdout == f"gpushare-webhook {__version__}\n"


def test_help_lists_what_is_included(light: Environment) -> None:
    commands = light.run("gpushare-webhook", "--help").stdout.partition("Commands:")[2]
    assert [name for name in COMMANDS if f"\n  {name} " not in commands] == list(MISSING)
    for command in ("check", "mutate"):
        shown = light.run("gpushare-webhook", command, "--help").stdout
        assert "--config" in shown
        assert [
            option for option in ("--context", "--kubeconfig", "--installed-as", "--without") if option in shown
        ] == []


@pytest.mark.parametrize("command", [[name] for name in MISSING] + [["serve", "--help"]], ids=" ".join)
def test_missing_command_names_full_distribution(light: Environment, command: list[str]) -> None:
    ended = light.run("gpushare-webhook", *command)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f'Error: gpushare-check does not contain the command "{command[0]}"; '
        "install gpushare-webhook in its place, which does\n"
    )


@pytest.mark.parametrize("option", ["--context", "--kubeconfig", "--installed-as", "--without"])
def test_missing_option_names_full_distribution(light: Environment, option: str) -> None:
    value = {"--installed-as": "a/b", "--without": "nodes"}.get(option, "name")
    ended = light.run("gpushare-webhook", "check", "-f", "pod.yaml", option, value)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "Error: gpushare-check does not contain the options of a live cluster "
        "(--context, --kubeconfig, --installed-as, --without); install gpushare-webhook in its place, which does\n"
    )


def test_shell_completes_what_is_included(light: Environment) -> None:
    complete = "import os; os.environ.update({}); from webhook.cli import main; main()"
    for words, expected in (
        ("gpushare-webhook ", [name for name in COMMANDS if name not in MISSING]),
        ("gpushare-webhook check --context ", []),
    ):
        request = {
            "COMP_LINE": words,
            "_GPUSHARE_WEBHOOK_COMPLETE": "bash_complete",
        }
        ended = light.run("python", "-I", "-c", complete.format(request), "gpushare-webhook")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert [line.partition(",")[2] for line in ended.stdout.split()] == expected


def test_shell_completes_no_option_of_missing_command(light: Environment) -> None:
    request = "import os; os.environ.update(COMP_LINE='gpushare-webhook serve --tls', "
    request += "_GPUSHARE_WEBHOOK_COMPLETE='bash_complete'); from webhook.cli import main; main()"
    ended = light.run("python", "-I", "-c", request, "gpushare-webhook")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "--tls" not in ended.stdout


@pytest.mark.exhaustive
def test_fixtures_get_same_answers(light: Environment, tmp_path: Path) -> None:
    given = [options(fixture, tmp_path) for fixture in load_all()]
    commands = [
        [*command, *words] for words in given for command in (["check", "-o", "json"], ["mutate", "-o", "json"])
    ]
    ours, full = (answers(python, commands, tmp_path) for python in (light.python, sys.executable))
    assert len(ours) > 1000
    assert {code for code, _, _ in ours} >= {0, 1}
    assert ours == full


@pytest.mark.exhaustive
def test_files_get_same_answers(light: Environment, tmp_path: Path) -> None:
    """Manifests of all tests, valid and not, and what the other commands print."""
    files = [str(file) for file in tracked("*") if file.suffix in (".yaml", ".yml", ".json")]
    commands = [["check", "-o", form, "-f", file] for file in files for form in ("text", "json")]
    commands += [["explain"], ["explain", "GPS001"], ["explain", "pipeMount"], ["config", "view"], ["config", "schema"]]
    commands += [["completion", "bash"], ["version", "-o", "json"], ["check"], ["chekc"]]
    ours, full = (answers(python, commands, tmp_path) for python in (light.python, sys.executable))
    assert {code for code, _, _ in ours} == {0, 1, 2}
    assert ours == full


@pytest.mark.exhaustive
def test_runs_without_byte_code(wheel: Path, tmp_path: Path) -> None:
    environment = installed(tmp_path / "environment", "--no-compile", str(wheel))
    assert list(environment.packages.rglob("*.pyc")) == []
    ended = environment.run("gpushare-webhook", "check", "-f", ROOT / "examples" / "vectoradd.yaml")
    assert (ended.returncode, ended.stderr) == (0, "")
