"""The benchmark of attacks measures every kind, and says which bars are missed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from bench.attacks import Outcome, Probes, Size
from bench.load_generator import Report
from tests.project.repository import ROOT


def outcome(seconds: float = 0.1, denied: int = 0, probes: Probes | None = None, after: Size | None = None) -> Outcome:
    statuses = {"200": 100} | ({"503": denied} if denied else {})
    latency = {"p50": seconds, "p99": seconds, "max": seconds}
    honest = Report(100 + denied, 1, 100, 100, statuses, {}, latency, 0, 0)
    return Outcome("an attack", 5, 9, honest, probes or Probes(), Size(70.0, 15), after or Size(70.0, 15))


@pytest.mark.parametrize(
    ("measured", "missed"),
    [
        (outcome(), []),
        (outcome(seconds=0.26), ["p99"]),
        (outcome(denied=1), ["failed reviews"]),
        (outcome(probes=Probes(failed=1)), ["probes"]),
        (outcome(after=Size(86.5, 15)), ["memory"]),
        (outcome(after=Size(53.5, 15)), ["memory"]),
        (outcome(after=Size(70.0, 16)), ["open files"]),
    ],
)
def test_missed_bars_are_named(measured: Outcome, missed: list[str]) -> None:
    assert measured.missed == missed
    assert measured.row[-1] == (missed[0] if missed else "nothing")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not on PATH")
@pytest.mark.parametrize("certificates", ["none", "required"])
def test_short_run_measures_and_counts(certificates: str) -> None:
    options = ["--seconds", "1", "--count", "1100", "--certificates", certificates, "part of a header"]
    ended = subprocess.run(
        [sys.executable, "-m", "bench.attacks", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    row = ended.stdout.splitlines()[-2]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0] == "part of a header", ended.stderr
    assert int(cells[1].replace(",", "")) > 0
    assert float(cells[4].replace(",", "")) > 0
    assert "open files" not in cells[-1]
    assert ended.returncode == (cells[-1] != "nothing")
