"""Each format writes the recorded report of the same run."""

from __future__ import annotations

import pytest

from tests.report.golden import ARGUMENTS, RECORDED, folder, report


@pytest.mark.parametrize("name", ARGUMENTS)
def test_report_is_the_recorded_one(name: str) -> None:
    with folder():
        assert report(name) == (RECORDED / f"{name}.txt").read_text()


def test_every_recorded_report_is_compared() -> None:
    assert sorted(file.stem for file in RECORDED.iterdir()) == sorted(ARGUMENTS)
