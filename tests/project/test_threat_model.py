"""The threat model and the list of attempts name the tests that show what they say, and those tests exist and run."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.project.repository import ROOT, module, modules

MODEL = ROOT / "docs/explanation/threat-model.md"
ATTEMPTS = ROOT / "docs/explanation/bypass.md"

THREATS = 18
"""Threats of SIG Security's model, kubernetes/sig-security: papers/admission-control."""

RESULTS = ("**Rejected**", "**Refused**", "**Warned**", "**No effect**", "**Passes**")
OWN_FILES = ("tests/cluster/test_bypass", "tests/cluster/control_plane/test_bypass")
"""The files whose tests are attempts, each of which has a row."""


@cache
def collected() -> dict[str, dict[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The tests of each file, by name. Only names that pytest collects count."""
    found: dict[str, dict[str, ast.FunctionDef | ast.AsyncFunctionDef]] = defaultdict(dict)
    for file, tree in modules("tests").items():
        if Path(file).name.startswith("test_"):
            for node in tree.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    found[file][node.name] = node
    return found


def named(text: str) -> list[tuple[str, str]]:
    """The tests that a text names: the file, empty where the text names none, and the name."""
    return re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", text)


def problems(text: str) -> list[str]:
    """Named tests that do not exist, that several files have, or that never run."""
    found = []
    for file, test in named(text):
        holding = [file] if file else [one for one, names in collected().items() if test in names]
        if len(holding) != 1 or test not in collected().get(holding[0], {}):
            found.append(f"{file}::{test} is in {holding}")
        elif any("skip" in ast.unparse(mark) or "xfail" in ast.unparse(mark) for mark in _marks(holding[0], test)):
            found.append(f"{file}::{test} does not run")
    return found


def _marks(file: str, test: str) -> list[ast.expr]:
    """The decorators of a test, and the marks of its file."""
    assigned = [node for node in module(file).body if isinstance(node, ast.Assign)]
    of_file = [node.value for node in assigned if "pytestmark" in ast.unparse(node.targets[0])]
    return [*collected()[file][test].decorator_list, *of_file]


def sections() -> dict[int, str]:
    """The text about each threat, by its number."""
    parts = re.split(r"^### (\d+)\. ", MODEL.read_text(), flags=re.M)
    return {
        int(number): re.split(r"^#", text, flags=re.M)[0] for number, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def items(section: str) -> list[str]:
    """The list items of a section of the list of attempts, each on one line; without the meanings of the results."""
    text = ATTEMPTS.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    found = [" ".join(item.split()) for item in re.findall(r"^- (.+(?:\n  .+)*)", text, re.M)]
    return [item for item in found if not re.match(r"\*\*[\w ]+\*\*: ", item)]


def rows() -> list[list[str]]:
    """The attempt, the result and the tests of each item of a tenant."""
    return [re.split(r": (?=\*\*)|\. (?=`test_)", item) for item in items("What a tenant can try")]


@pytest.mark.parametrize("page", [MODEL, ATTEMPTS], ids=lambda page: page.stem)
@pytest.mark.slow
def test_named_tests_exist_and_run(page: Path) -> None:
    assert len(named(page.read_text())) > 20
    assert problems(page.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "`test_no_such_attempt`",
        "`tests/cluster/control_plane/test_bypass.py::test_no_such_attempt`",
        "`tests/cluster/test_no_such_file.py::test_resize_changes_no_gpu`",
        "`test_workload_update_is_sent_only_when_its_template_changes`",
    ],
)
def test_wrong_name_is_found(text: str) -> None:
    assert len(problems(text)) == 1


def test_every_threat_is_answered() -> None:
    assert sorted(sections()) == list(range(1, THREATS + 1))


@pytest.mark.parametrize("number", range(1, THREATS + 1))
def test_threat_has_test_or_reason(number: int) -> None:
    text = sections()[number]
    assert re.match(r"[A-Z].+\n\n", text), "the heading says what the attacker does"
    assert "**Answer.**" in text or "**Out of scope**, because" in text
    assert "**Your part.**" in text
    assert named(text) or "**Out of scope**, because" in text


def test_every_attempt_has_result_and_tests() -> None:
    assert len(rows()) > 30
    for row in rows():
        assert len(row) == 3, row
        attempt, result, shown = row
        assert result.startswith(RESULTS), attempt
        assert named(shown), attempt
        assert re.sub(r"`test_\w+`", "", shown).strip(", ") == "", attempt
    assert len({row[0] for row in rows()}) == len(rows())


def test_every_attempt_of_a_change_or_node_has_tests() -> None:
    for section in ("What a change can do to its own check", "What a node can do"):
        assert len(items(section)) > 4
        assert [item for item in items(section) if not re.search(r"\. `test_\w+`(, `test_\w+`)*$", item)] == []


def test_every_result_is_among_the_attempts() -> None:
    assert {result for result in RESULTS if any(row[1].startswith(result) for row in rows())} == set(RESULTS)


def test_every_tested_attempt_has_a_row() -> None:
    shown = {test for row in rows() for _, test in named(row[2])}
    tested = {test for file, names in collected().items() if file.startswith(OWN_FILES) for test in names}
    elsewhere = {test for _, test in named(MODEL.read_text())}
    assert tested - shown - elsewhere == NO_ATTEMPTS


NO_ATTEMPTS = {
    "test_queue_on_whole_cards_releases_pod_over_limit",
    "test_valid_gated_pod_is_mutated_and_released",
    "test_tenant_pod_over_limit_is_rejected",
}
"""Tests next to the attempts: what has to keep working, and that the tenant of the tests is subject to the checks."""
