"""The distribution and its extras as installed: sizes, and what each command needs."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.packaging.environments import CONSTRAINTS, Environment, installed
from tests.project import page_shell
from tests.project.pages import page_block
from tests.project.repository import ROOT, project
from tests.project.test_build import canonical
from webhook import __version__
from webhook.cli import COMMANDS
from webhook.cli.extras import EXTRAS

MOST_BYTES = 21_100_000
"""All that pip installs for the command line, byte code included."""

_READING = ["top", "audit", "plan", "doctor", "snapshot"]
COMMANDS_OF = {"cluster": _READING, "server": [*_READING, "serve"]}
"""The commands that each extra adds."""

slow = pytest.mark.slow


def names(environment: Environment) -> set[str]:
    """The canonical names of the installed distributions."""
    return {canonical(one.name) for one in distributions(path=[str(environment.packages)])}


def test_extras_are_those_of_project_file() -> None:
    declared = project()["project"]["optional-dependencies"]
    (same, *others) = declared["server"]
    assert same == "gpushare-webhook[cluster]"
    listed = {"cluster": declared["cluster"], "server": [*declared["cluster"], *others]}
    assert {extra: {module.replace("_", "-") for module in modules} for extra, modules in EXTRAS.items()} == {
        extra: set(map(canonical, requirements)) for extra, requirements in listed.items()
    }


@slow
def test_size_of_command_line(plain: Environment) -> None:
    files = [file for file in plain.packages.rglob("*") if file.is_file()]
    assert [file for file in files if file.suffix == ".pyc"]
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


@slow
def test_command_line_has_no_library_of_extras(plain: Environment) -> None:
    assert names(plain) & set(EXTRAS["server"]) == set()
    assert plain.pip("check") == "No broken requirements found.\n"


@slow
def test_commands_run_without_extras(plain: Environment) -> None:
    for name in COMMANDS.keys() - set(COMMANDS_OF["server"]):
        shown = plain.run("gpushare-webhook", name, "--help")
        assert (shown.returncode, shown.stderr) == (0, "")
    assert plain.run("kubectl-gpushare", "version").stdout == f"gpushare-webhook {__version__}\n"
    pod = ROOT / "examples" / "vectoradd.yaml"
    for command in (["check", pod], ["mutate", "-f", pod, "-o", "diff"], ["explain", "GPS001"], ["config", "view"]):
        ended = plain.run("gpushare-webhook", *command)
        assert ended.returncode == 0, (command, ended.stderr)


@slow
def test_missing_server_extra_is_named(plain: Environment) -> None:
    ended = plain.run("gpushare-webhook", "serve", "--help")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        'Error: the command "serve" needs libraries that are not installed '
        "(aiohttp, kubernetes, cryptography, prometheus_client, uvloop): "
        "install gpushare-webhook[server] in place of gpushare-webhook\n"
    )


@slow
def test_option_without_cluster_extra_is_refused(plain: Environment) -> None:
    ended = plain.run("gpushare-webhook", "check", ROOT / "examples" / "vectoradd.yaml", "--context", "prod")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "Error: an option of a live cluster (--context, --kubeconfig, --installed-as, --without) needs libraries that "
        "are not installed (aiohttp, kubernetes): install gpushare-webhook[cluster] in place of gpushare-webhook\n"
    )


@slow
def test_shell_completes_no_option_of_command_without_its_extra(plain: Environment) -> None:
    request = "import os; os.environ.update(COMP_WORDS='gpushare-webhook serve --tls', COMP_CWORD='2', "
    request += "_GPUSHARE_WEBHOOK_COMPLETE='bash_complete'); from webhook.cli import main; main()"
    ended = plain.run("python", "-I", "-c", request, "gpushare-webhook")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "--tls" not in ended.stdout


@slow
def test_page_shows_message_of_missing_extra(plain: Environment) -> None:
    shown = page_block("docs/how-to/install-the-command-line.md", "gpushare-webhook snapshot")
    program, *arguments = shown.commands()[0]
    ended = plain.run(program, *arguments)
    assert (ended.returncode, ended.stderr) == (2, shown.output)


@slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("extra", EXTRAS)
def test_commands_of_extra_import_its_libraries_alone(extra: str, wheel: Path, tmp_path: Path) -> None:
    environment = installed(tmp_path / extra, f"{wheel}[{extra}]")
    for name in COMMANDS_OF[extra]:
        shown = environment.run("gpushare-webhook", name, "--help")
        assert (shown.returncode, shown.stderr) == (0, "")
    unread = environment.run("gpushare-webhook", "snapshot", "--kubeconfig", "missing")
    assert (unread.returncode, "missing" in unread.stderr) == (2, True)
    if extra == "server":
        unstarted = environment.run("gpushare-webhook", "serve", "--tls-cert=missing", "--tls-key=missing")
        assert (unstarted.returncode, "missing" in unstarted.stderr) == (2, True)


@slow
@pytest.mark.exhaustive
def test_command_line_runs_without_byte_code(wheel: Path, tmp_path: Path) -> None:
    environment = installed(tmp_path / "environment", "--no-compile", str(wheel))
    assert list(environment.packages.rglob("*.pyc")) == []
    ended = environment.run("gpushare-webhook", "check", "-f", ROOT / "examples" / "vectoradd.yaml")
    assert (ended.returncode, ended.stderr) == (0, "")


@slow
@pytest.mark.exhaustive
def test_uv_installs_wheel(wheel: Path, tmp_path: Path) -> None:
    block = page_block("docs/how-to/install-the-command-line.md", "uv tool install")
    tools = installed(tmp_path / "tools", "uv")
    folder = tmp_path / "clone"
    (folder / "build" / "wheel").mkdir(parents=True)
    shutil.copy(wheel, folder / "build" / "wheel")
    shutil.copy(CONSTRAINTS, folder)
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_BIN_HOME": str(tmp_path / "bin")}
    environment = os.environ | home | {"PATH": f"{tools.folder / 'bin'}:{os.environ['PATH']}"}
    (ran,) = page_shell.run([block], folder, tmp_path / "record", ["bash"], environment)
    page_shell.check(block, ran)
    assert Environment(tmp_path).run("gpushare-webhook", "version").returncode == 0
