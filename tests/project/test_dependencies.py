"""The page on dependencies names every dependency, and what imports it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubeconfig import UNREACHABLE
from tests.project.repository import ROOT, project

pytestmark = pytest.mark.slow

READER = ROOT / "tests" / "project" / "reader"
POD, SETTINGS = str(READER / "pod.yaml"), str(READER / "settings.yaml")
MISSING = ["--tls-cert=missing", "--tls-key=missing"]

MODULES = {"PyYAML": "yaml", "prometheus-client": "prometheus_client"}
"""The modules of packages that are named differently."""

# What the column may name: the run, and the entries whose packages it imports as well.
RUNS: dict[str, tuple[list[str], list[str]]] = {
    "check": (["check", "-f", POD], []),
    "check -o json": (["check", "-f", POD, "-o", "json"], ["check"]),
    "--config": (["check", "-f", POD, "--config", SETTINGS], ["check"]),
    "--facts": (["check", "-f", POD, "--facts", "facts.yaml"], ["check"]),
    "mutate": (["mutate", "-f", POD, "-o", "patch"], []),
    "mutate -o yaml": (["mutate", "-f", POD], ["mutate"]),
    "mutate -o json": (["mutate", "-f", POD, "-o", "json"], ["mutate"]),
    "mutate -o diff": (["mutate", "-f", POD, "-o", "diff"], ["mutate"]),
    "config": (["config", "view"], []),
    "serve": (["serve", *MISSING], []),
    "serve --tls-mode self-managed": (["serve", "--tls-mode", "self-managed"], ["serve"]),
    "facts": (["serve", *MISSING, "--config", "cluster-facts.yaml"], ["serve"]),
    "snapshot": (["snapshot", "--kubeconfig", "kubeconfig.yaml"], []),
    "--context": (["check", "-f", POD, "--kubeconfig", "kubeconfig.yaml", "--context", "away"], ["check"]),
    "explain": (["explain", "GPS001"], []),
    "version": (["version"], []),
    "completion": (["completion", "bash"], []),
}
FILES = {
    "facts.yaml": "apiVersion: gpushare-webhook/v1\nkind: Facts\n",
    "cluster-facts.yaml": "facts: {runtimeClasses: true}\n",
    "kubeconfig.yaml": UNREACHABLE,
}

AT_EXIT = """
import atexit, json, runpy, sys
def write():
    with open(sys.argv[1], "w") as file:
        json.dump(sorted({name.partition(".")[0] for name in sys.modules}), file)
atexit.register(write)
"""
COMMAND = AT_EXIT + "from webhook.cli import main; main(sys.argv[2:])"
CERTIFICATES = AT_EXIT + "runpy.run_path('generate.py')"


def documented() -> dict[str, set[str]]:
    """The entries of the last column, by module."""
    page = (ROOT / "docs/explanation/dependencies.md").read_text()
    body = page.partition("| imported by |\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([\w-]+) \| .* \| ([^|]+) \|$", body, re.MULTILINE)
    return {MODULES.get(package, package): set(re.findall("`([^`]+)`", column)) or {column} for package, column in rows}


DOCUMENTED = documented()


def imported(program: str, folder: Path, *arguments: str) -> set[str]:
    """The dependencies that a program has imported when it ends, without a cluster."""
    written = folder / "imported.json"
    environment = os.environ | {"KUBECONFIG": str(folder / "none"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, str(written), *arguments]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=False)
    return DOCUMENTED.keys() & set(json.loads(written.read_text()))


def expected(*entries: str) -> set[str]:
    return {module for module, column in DOCUMENTED.items() if column & {*entries, "every command"}}


def test_page_names_every_dependency() -> None:
    declared = {re.split("[<>=]", one)[0] for one in project()["project"]["dependencies"]}
    assert DOCUMENTED.keys() == {MODULES.get(name, name) for name in declared}


def test_column_names_known_entries() -> None:
    assert set().union(*DOCUMENTED.values()) <= RUNS.keys() | {"every command", "make certs"}


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("entry", RUNS)
def test_command_imports_what_page_says(entry: str, tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    arguments, others = RUNS[entry]
    assert imported(COMMAND, tmp_path, *arguments) == expected(entry, *others)


def test_certificates_script_imports_what_page_says(tmp_path: Path) -> None:
    shutil.copy(ROOT / "certs" / "generate.py", tmp_path)
    assert imported(CERTIFICATES, tmp_path) == expected("make certs") - {"click"}
