"""The gate compares instructions with the committed figures, and never passes silently what it could not compare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import callgrind, gate, micro
from bench.callgrind import Counts
from bench.machine import Machine
from bench.results import Results
from bench.rounds import Rounds
from tests.cluster.harness.interpreters import at_hand

COMMITTED: Counts = {("one replica", "decode"): 50_000.0, ("one replica", "decide"): 300_000.0}
HERE = "CPython 3.11.7"


@pytest.fixture(autouse=True)
def committed(monkeypatch: pytest.MonkeyPatch) -> Results:
    """Committed figures of two steps, which also are what is counted."""
    found = micro.results(Machine.here(), Rounds(1), [COMMITTED], HERE)
    monkeypatch.setattr(gate, "load", lambda _: found)
    counted(monkeypatch, COMMITTED)
    return found


def counted(monkeypatch: pytest.MonkeyPatch, counts: Counts, here: str = HERE) -> None:
    monkeypatch.setattr(callgrind, "foundation", lambda _: here)
    monkeypatch.setattr(micro, "measured", lambda _: counts)
    monkeypatch.setattr(gate, "image", at_hand)


def scaled(factor: float) -> Counts:
    """One step is the committed one, the other is so much worse."""
    return COMMITTED | {("one replica", "decide"): 300_000 * factor}


def test_step_9_percent_worse_passes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counted(monkeypatch, scaled(1.09))
    assert gate.main() == 0
    assert "2 steps compared" in capsys.readouterr().out


def test_step_11_percent_worse_fails_and_says_how_to_accept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted(monkeypatch, scaled(1.11))
    assert gate.main() == 1
    assert capsys.readouterr().err.splitlines() == [
        'bench-gate: decide of the review "one replica" costs 333,000 instructions, '
        "11.0% more than the committed 300,000",
        "bench-gate: To accept the new figures, run `make bench-accept` and commit what it writes.",
    ]


def test_step_of_few_instructions_may_vary(committed: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    small = COMMITTED | {("one replica", "encode"): 5_000.0}
    monkeypatch.setattr(gate, "load", lambda _: micro.results(committed.machine, Rounds(1), [small], HERE))
    for instructions, status in ((6_000.0, 0), (6_100.0, 1)):
        counted(monkeypatch, small | {("one replica", "encode"): instructions})
        assert gate.main() == status


def test_middle_of_committed_rounds_is_compared(committed: Results) -> None:
    rounds = [scaled(factor) for factor in (0.8, 1.0, 1.3)]
    found = micro.results(committed.machine, Rounds(3), rounds, HERE)
    assert list(gate.compare(found, scaled(1.09))) == []
    assert len(list(gate.compare(found, scaled(1.11)))) == 1


def test_step_without_committed_figure_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted(monkeypatch, COMMITTED | {("notebook", "decode"): 1.0})
    assert gate.main() == 1
    assert 'decode of the review "notebook" has no committed figure' in capsys.readouterr().err


def test_figure_of_removed_step_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counted(monkeypatch, {("one replica", "decode"): 50_000.0})
    assert gate.main() == 1
    assert (
        'decide of the review "one replica" has a committed figure, but is no longer counted' in capsys.readouterr().err
    )


def test_other_python_is_not_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    counted(monkeypatch, scaled(2.0), here="CPython 3.13.1")
    assert gate.main() == 0
    said = capsys.readouterr()
    assert said.err == (
        "bench-gate: NOT COMPARED: the committed figures belong to CPython 3.11.7; here is CPython 3.13.1\n"
    )
    assert "steps compared" not in said.out


def test_missing_valgrind_is_not_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = micro.results(Machine.here(), Rounds(1), [COMMITTED], HERE)
    monkeypatch.undo()
    monkeypatch.setattr(gate, "load", lambda _: found)
    monkeypatch.setattr(callgrind, "foundation", lambda _: HERE)
    monkeypatch.setattr(gate, "image", at_hand)
    monkeypatch.setattr(micro, "image", at_hand)
    monkeypatch.setenv("PATH", "/nonexistent")
    for in_ci, status in (("false", 0), ("true", 1)):
        monkeypatch.setenv("CI", in_ci)
        assert gate.main() == status
        assert capsys.readouterr().err == "bench-gate: NOT COMPARED: valgrind is not on PATH (package valgrind)\n"


def test_committed_results_without_figures_are_not_compared(committed: Results) -> None:
    assert (
        gate.incomparable(replace(committed, figures=(), notes=()), HERE) == "bench/results/micro.json has no figures"
    )
