"""Behaviour that needs a separate process: imports of a command, broken pipes, encodings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DATA
from tests.cli.run import PATIENCE, program
from webhook.report.exit_codes import ExitCode

pytestmark = pytest.mark.slow

IMPORTED = """
import json, sys
from webhook.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(list(sys.modules)), file=sys.stderr)
"""


def modules(*arguments: str) -> set[str]:
    """Return the modules that a command imports."""
    ended = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return set(json.loads(ended.stderr.splitlines()[-1]))


def imported(*arguments: str) -> set[str]:
    """Return the packages that a command imports."""
    return {name.partition(".")[0] for name in modules(*arguments)}


HEAVY = {"pydantic", "aiohttp", "kubernetes", "cryptography", "prometheus_client", "jsonpatch", "uvloop", "asyncio"}


def test_check_imports_no_heavy_package() -> None:
    packages = imported("check", "-f", str(DATA / "good.yaml"), "-o", "json")
    assert packages & HEAVY == set()
    assert {"webhook", "yaml"} <= packages


UNUSED = {
    "webhook.cluster",
    "webhook.dryrun.baseline",
    "webhook.dryrun.evidence",
    "webhook.policy.launchers.programs",
    "webhook.policy.placement.nearest",
    "webhook.policy.placement.cluster_objects",
    "webhook.policy.settings.elements",
    "webhook.policy.settings.formats",
}
"""Modules that a check needs only with other options or files, or for objects that launch programs."""


def test_check_without_options_imports_what_it_needs(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    container = "{name: a, args: [serve], resources: {limits: {nvidia.com/gpu: 2}}}"
    pod.write_text(f"{{apiVersion: v1, kind: Pod, spec: {{containers: [{container}]}}}}")
    assert modules("check", "-f", str(pod)) & UNUSED == set()


def test_check_imports_no_network_without_server() -> None:
    assert imported("check", "-f", str(DATA / "good.yaml")) & {"ssl", "http", "socket"} == set()


def test_check_with_settings_imports_pydantic_only(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("mode: warn\n")
    packages = imported("check", "-f", str(DATA / "good.yaml"), "--config", str(settings))
    assert packages & HEAVY == {"pydantic"}


@pytest.mark.parametrize(
    "command", [["explain"], ["version"], ["--help"], ["completion", "zsh"], ["snapshot", "--help"]]
)
def test_small_commands_import_no_heavy_package(command: list[str]) -> None:
    assert imported(*command) & HEAVY == set()


def test_list_of_commands_imports_neither_policy_nor_reports() -> None:
    assert modules("--help") & {"webhook.policy.settings.settings", "webhook.report.model"} == set()


def test_serve_does_not_import_kubernetes_client() -> None:
    packages = imported("serve", "--tls-cert", "missing", "--tls-key", "missing")
    assert "kubernetes" not in packages
    assert {"aiohttp", "prometheus_client", "uvloop"} <= packages


COMMANDS = {
    "check": ["check", "-f", str(DATA / "pods.yaml")],
    "json": ["check", "-f", str(DATA / "good.yaml"), "-o", "json"],
    "mutate": ["mutate", "-f", str(DATA / "good.yaml")],
    "schema": ["config", "schema"],
    "help": ["--help"],
    "explain": ["explain"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_broken_pipe_exits_without_traceback(command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as broken:
        ended = program(*command, stdout=broken)
    assert ended.stderr == b""
    assert ended.returncode == ExitCode.OUTPUT_CLOSED


@pytest.mark.parametrize("encoding", ["", "latin-1"])
def test_output_is_utf8_in_any_locale(tmp_path: Path, encoding: str) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text("{apiVersion: v1, kind: Pod, metadata: {name: ☃}}")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    ended = program("mutate", "-q", "-f", str(pod), "-o", "json", env={**os.environ, **locale})
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert json.loads(ended.stdout)["metadata"]["name"] == "☃"
