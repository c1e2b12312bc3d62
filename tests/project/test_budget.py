"""The budget of the tests: what is compared, and what fails."""

from __future__ import annotations

import gc
import tomllib

from tests.budget import Cost, compared, costs, dearest, written
from tests.record import EXHAUSTIVE, Record
from tests.speed import Speed, loop


def test_costs_are_added_up_by_folder_without_exhaustive_tests() -> None:
    first = Record({"tests/a/test_a.py": 3, EXHAUSTIVE: 9}, {"tests/a/test_a.py": 1.5, EXHAUSTIVE: 99.0})
    second = Record({"tests/a/deep/test_b.py": 2}, {"tests/a/deep/test_b.py": 1.0})
    assert costs([first, second]) == {"tests/a": Cost(5, 2.5)}


def test_dearest_files_are_named_first() -> None:
    one = Record(
        {"tests/a/test_a.py": 3, "tests/a/deep/test_b.py": 1}, {"tests/a/test_a.py": 1.5, "tests/a/deep/test_b.py": 2.0}
    )
    two = Record({"tests/a/test_a.py": 1, EXHAUSTIVE: 9}, {"tests/a/test_a.py": 1.0, EXHAUSTIVE: 99.0})
    assert list(dearest([one, two])) == ["tests/a/test_a.py: 2.5 s", "tests/a/deep/test_b.py: 2.0 s"]


def test_folder_above_its_budget_fails() -> None:
    budget = {"tests/a": Cost(5, 100.0), "tests/b": Cost(5, 100.0), "tests/small": Cost(1, 0.1)}
    found = {"tests/a": Cost(6, 127.0), "tests/b": Cost(5, 129.0), "tests/small": Cost(1, 3.0)}
    kept = {line.split()[0]: keeps for line, keeps in compared(found, budget)}
    assert kept == {"folder": True, "tests/a": True, "tests/b": False, "tests/small": True}


def test_time_is_scaled_by_a_loop_that_is_repeated() -> None:
    speed = Speed(iter([0.05, 0.0125]).__next__)
    assert [speed.scaled(4.0), speed.scaled(4.0), speed.scaled(4.0)] == [2.0, 2.0, 8.0]


def test_loop_takes_processor_time_and_leaves_the_collector_on() -> None:
    assert loop() > 0
    assert gc.isenabled()


def test_folder_without_budget_or_run_fails() -> None:
    kept = dict(compared({"tests/new": Cost(1, 1.0)}, {"tests/old": Cost(1, 1.0)}))
    assert [line for line, keeps in kept.items() if not keeps] == [
        "tests/new            has no budget: python -m tests.budget accept",
        "tests/old            did not run",
    ]


def test_written_budget_is_read_back() -> None:
    read = tomllib.loads(written({"tests/a": Cost(5, 2.5)}))
    assert read == {"folders": {"tests/a": {"tests": 5, "seconds": 2.5}}}
