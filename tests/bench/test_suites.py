"""The registry of suites and the folder have the same modules, and the smallest suite runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from bench.results import FOLDER, load
from bench.suites import SUITES

pytestmark = pytest.mark.slow

BENCH = FOLDER.parent
ROOT = BENCH.parent


def is_suite(module: Path) -> bool:
    """Whether a module has what a suite needs."""
    functions = {node.name for node in ast.parse(module.read_text()).body if isinstance(node, ast.FunctionDef)}
    return {"run", "section"} <= functions


def test_every_suite_is_registered_under_the_name_of_its_module() -> None:
    assert sorted(suite.name for suite in SUITES) == sorted(file.stem for file in BENCH.glob("*.py") if is_suite(file))
    assert [suite.run.__module__ for suite in SUITES] == [f"bench.{suite.name}" for suite in SUITES]


def test_every_file_of_results_belongs_to_a_suite() -> None:
    committed = {file.stem for file in FOLDER.glob("*.json")}
    assert {suite.name for suite in SUITES} == {name for name in committed if (BENCH / f"{name}.py").exists()}
    names = committed & {suite.name for suite in SUITES}
    assert {name: load(name).suite for name in names} == {name: name for name in names}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=500, check=False
    )


def test_quick_run_measures_every_server_or_says_why_not(tmp_path: Path) -> None:
    page = (ROOT / "docs/explanation/performance.md").read_bytes()
    ended = bench("footprint", "--quick", "--results", str(tmp_path))
    assert ended.returncode == 0, ended.stderr
    found = load("footprint", tmp_path)
    measured = {figure.subject for figure in found.figures}
    assert {"gpushare-webhook", "constant answer"} <= measured
    assert "Go controller-runtime" in measured | set(found.skipped)
    assert [figure for figure in found.figures if min(figure.values) <= 0] == []
    assert (ROOT / "docs/explanation/performance.md").read_bytes() == page


@pytest.mark.parametrize("wrong", ["nonsense", "--rounds=0"])
def test_wrong_argument_is_refused(wrong: str) -> None:
    ended = bench(wrong)
    assert ended.returncode == 2
    assert "Error: Invalid value" in ended.stderr
