"""Help, version, completion, and the names of the program."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from tests.cli.run import run
from webhook import __version__
from webhook.cli import COMMANDS
from webhook.report.exit_codes import ExitCode

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).with_name("gpushare-webhook")

OF_MANIFESTS = "-f, --filename|-R, --recursive|-n, --namespace|-o, --output|--config|--facts|--context"
OPTIONS = {
    "check": f"{OF_MANIFESTS}|--fail-on",
    "mutate": OF_MANIFESTS,
    "doctor": "--context|--installed-as|-n, --namespace|-o, --output",
    "snapshot": "--context|--facts|--settings|--installed-as",
    "serve": "--config|--host|--port|--health-port|--tls-cert|--tls-key|--log-format|--log-level",
    "config view": "--config",
    "config validate": "--config",
}
"""The options that the contract names."""


def section(text: str, title: str) -> list[str]:
    """The lines of a help text from a title to the next empty line."""
    return text.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()


def test_help_lists_commands_and_exit_codes() -> None:
    ended = run("--help")
    assert ended.code == 0
    listed = [line.split()[0] for line in section(ended.out, "Commands:") if line[2:3] != " "]
    assert listed == list(COMMANDS)
    codes = [line.split(maxsplit=1) for line in section(ended.out, "  Exit codes:")]
    assert codes == [[str(code.value), code.meaning] for code in ExitCode]


@pytest.mark.parametrize("command", [*COMMANDS, "config view", "config validate", "config schema"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_each_command(command: str, option: str) -> None:
    ended = run(*command.split(), option)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: gpushare-webhook {command} ")
    assert "..." not in ended.out.partition("\n\n")[2]


@pytest.mark.parametrize("command", OPTIONS)
def test_help_lists_contract_options(command: str) -> None:
    out = run(*command.split(), "--help").out
    assert [option for option in OPTIONS[command].split("|") if f"  {option} " not in out] == []


def test_usage_error_names_help_option() -> None:
    ended = run("chekc")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith('Error: there is no command "chekc"; did you mean "check"?\n')
    assert "--help" in ended.err
    assert run("prüfe\n").err.endswith(f'Error: there is no command "prüfe?"; choose from {", ".join(COMMANDS)}\n')


def test_version_formats() -> None:
    assert run("version").out == f"gpushare-webhook {__version__}\n"
    assert run("version", "-o", "json").json() == {"version": __version__}
    assert version("gpushare-webhook") == __version__


def test_version_option_comes_first() -> None:
    assert run("--version", "check", "missing.yaml").out == run("version").out


def test_both_program_names_run_the_same_command() -> None:
    scripts = {script.name: script.value for script in entry_points(group="console_scripts")}
    assert scripts["gpushare-webhook"] == scripts["kubectl-gpushare"] == "webhook.cli:main"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ([sys.executable, "-m", "webhook"], "python -m webhook"),
        ([PROGRAM], "gpushare-webhook"),
        ([PROGRAM.with_name("kubectl-gpushare")], "kubectl gpushare"),
    ],
    ids=["module", "script", "plugin"],
)
def test_usage_names_program_as_called(call: list[str | Path], name: str) -> None:
    assert output([*call, "--help"]).startswith(f"Usage: {name} [OPTIONS] COMMAND")
    assert output([*call, "config", "view", "--help"]).startswith(f"Usage: {name} config view [OPTIONS]\n")
    failed = subprocess.run([*call, "explain", "x"], capture_output=True, text=True, timeout=20, check=False)
    assert failed.stderr.startswith(
        f"Usage: {name} explain [OPTIONS] [CODE]...\nTry '{name} explain --help' for help.\n"
    )
    assert output([*call, "--version"]) == output([*call, "version"]) == f"gpushare-webhook {__version__}\n"


def output(call: list[str | Path]) -> str:
    return subprocess.check_output(call, timeout=20, text=True)
