"""The plugins of pytest: which tests run, what is recorded, and what the summary says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.record import Record, read
from tests.summary import lines

pytest_plugins = ["pytester"]

CASES = """
import pytest

@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("case", range(10))
def test_cases(case):
    pass

@pytest.mark.exhaustive
def test_everything():
    pass

def test_one():
    pass
"""
SKIPPED = """
import pytest

def test_without_program():
    pytest.skip("zsh is not installed")
"""
CONFIGURATION = """
[pytest]
markers =
    exhaustive: more
asyncio_default_fixture_loop_scope = function
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_cases=CASES)
    pytester.makefile(".ini", pytest=CONFIGURATION)
    return pytester


def ran(folder: pytest.Pytester, *arguments: str) -> set[str]:
    """The tests that run."""
    plugins = "-p", "tests.exhaustive", "-p", "tests.record"
    result = folder.runpytest_inprocess("-v", *plugins, *arguments)
    return {line.split()[0].partition("::")[2] for line in result.outlines if " PASSED" in line}


def by_name(counts: dict[str, int]) -> dict[str, int]:
    return {Path(file).name: count for file, count in counts.items()}


ORDINARY = {"test_one", *(f"test_cases[{case}]" for case in (0, 4, 8))}
ALL = {"test_one", "test_everything", *(f"test_cases[{case}]" for case in range(10))}


def test_exhaustive_tests_are_left_out(folder: pytest.Pytester) -> None:
    assert ran(folder) == ran(folder, "--exhaustive", "all") == ALL
    assert ran(folder, "--exhaustive", "none") == ORDINARY


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "2"])
def test_record_counts_what_ran_and_what_did_not(folder: pytest.Pytester, processes: str) -> None:
    folder.makepyfile(test_skipped=SKIPPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        ran(folder, "--exhaustive", "none", "--record", "found.json", f"--numprocesses={processes}")
    record = read(folder.path / "found.json")
    assert by_name(record.tests) == {"test_cases.py": 4, "test_skipped.py": 1}
    assert record.seconds.keys() == record.tests.keys()
    assert by_name(Counter(test.partition("::")[0] for test in record.left_out)) == {"test_cases.py": 8}
    assert record.skipped == {"Skipped: zsh is not installed": 1}


def test_test_that_another_option_leaves_out_is_not_counted(folder: pytest.Pytester) -> None:
    ran(folder, "-k", "test_one", "--record", "found.json")
    assert read(folder.path / "found.json").left_out == []


def test_skipped_test_fails_in_ci(folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    file = folder.makepyfile(SKIPPED)
    result = folder.runpytest_inprocess("-p", "tests.exhaustive", "-p", "tests.record", file)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*in CI a skip is a failure: Skipped: zsh is not installed"])


def test_summary_names_what_did_not_run_and_why() -> None:
    names = ["tests/a/test_a.py::test[1]", "tests/a/test_a.py::test[2]", "tests/b/test_b.py::test"]
    first = Record({"tests/a/test_a.py": 3}, {}, names, {"no zsh": 4})
    second = Record({"tests/c/test_c.py": 5}, {}, [names[0], "tests/a/test_a.py::test[3]"], {})
    files = [
        "tests/a/test_a.py",
        "tests/b/test_b.py",
        "tests/c/test_c.py",
        "tests/chart/test_x.py",
        "tests/d/test_d.py",
    ]
    reasons = {"needs Go: make test-chart": ["tests/chart"], "needs a cluster": ["tests/cluster"]}
    assert list(lines([first, second], files, reasons)) == [
        "8 tests ran. Did not run:",
        "  tests/chart: needs Go: make test-chart",
        "  tests/d/test_d.py",
        "  4 exhaustive tests: make test-all",
        "  4 tests: no zsh",
    ]


def test_summary_of_all_tests_leaves_nothing_out() -> None:
    record = Record({"tests/a/test_a.py": 3})
    assert list(lines([record], ["tests/a/test_a.py"], {})) == ["3 tests ran, and none was left out."]
