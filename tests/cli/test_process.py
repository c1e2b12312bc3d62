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
    """Return the modules that a command imports, and their packages."""
    ended = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    found = json.loads(ended.stderr.splitlines()[-1])
    return {*found, *(name.partition(".")[0] for name in found)}


HEAVY = {"pydantic", "aiohttp", "kubernetes", "cryptography", "prometheus_client", "jsonpatch", "uvloop", "asyncio"}
NETWORK = {"ssl", "http", "socket"}
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

CHECK = ["check", "-f", str(DATA / "good.yaml")]


@pytest.mark.parametrize(
    ("command", "of", "expected"),
    [
        ([*CHECK, "-o", "json"], HEAVY | {"webhook", "yaml"}, {"webhook", "yaml"}),
        (CHECK, NETWORK, set()),
        ([*CHECK, "--config", "settings.yaml"], HEAVY, {"pydantic"}),
        (["check", "-f", "pod.yaml"], UNUSED, set()),
        *((command, HEAVY, set()) for command in (["explain"], ["version"], ["completion", "zsh"])),
        (["snapshot", "--help"], HEAVY, set()),
        (["--help"], HEAVY | {"webhook.policy.settings.settings", "webhook.report.model"}, set()),
        (
            ["serve", "--tls-cert", "missing", "--tls-key", "missing"],
            {"kubernetes", "aiohttp", "prometheus_client", "uvloop"},
            {"aiohttp", "prometheus_client", "uvloop"},
        ),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_command_imports_what_it_needs(here: Path, command: list[str], of: set[str], expected: set[str]) -> None:
    (here / "settings.yaml").write_text("mode: warn\n")
    container = "{name: a, args: [serve], resources: {limits: {nvidia.com/gpu: 2}}}"
    (here / "pod.yaml").write_text(f"{{apiVersion: v1, kind: Pod, spec: {{containers: [{container}]}}}}")
    assert modules(*command) & of == expected


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
