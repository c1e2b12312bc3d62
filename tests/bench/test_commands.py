"""Command lines are compared only if they find the same Deployment, and unavailable ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import commands
from bench.commands import CPU, OURS, WALL, Tool, WrongAnswerError
from bench.deployments import WRONG
from bench.machine import Machine
from bench.peers.programs import PROGRAMS, Program
from bench.results import load
from bench.rounds import Rounds
from tests.cluster.harness.interpreters import at_hand

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def image_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the tests in the place of the image's, which needs the tools of a cluster."""
    monkeypatch.setattr(commands, "image", at_hand)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The peers that are already built; building one takes minutes."""
    found = [program for program in PROGRAMS if program.is_built]
    monkeypatch.setattr(commands, "PROGRAMS", tuple(found))
    return found


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.exhaustive
def test_every_tool_that_is_built_finds_the_wrong_deployment_in_every_case(built: list[Program]) -> None:
    found = commands.run(Machine.here(), Rounds(1, share=0.004))
    names = [OURS, *(program.name for program in built)]
    cases = ["one small file", "8 in one file", "8 files"]
    assert [(figure.case, figure.subject) for figure in found.having(quantity=WALL)] == [
        *((case, name) for case in cases for name in names),
        ("80 in one file", OURS),
    ]
    for wall in found.having(quantity=WALL):
        assert wall.values[0] > 0
        assert found.figure(wall.subject, wall.case, CPU).values[0] > 0
    for one in found.ratios:
        ours, other = (found.figure(name, one.case, one.quantity).values[0] for name in (OURS, one.over))
        assert one.values[0] == pytest.approx(ours / other)


def test_tool_that_finds_nothing_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(WrongAnswerError, match="blind ends with 0 for one small file"):
        list(commands.take_turns([Tool("blind", lambda _: ["true"])], *_one(tmp_path), 1))


def test_tool_that_finds_too_much_is_not_measured(tmp_path: Path) -> None:
    script = f"echo {WRONG} inference-0001; exit 1"
    with pytest.raises(WrongAnswerError, match="should find asks-for-two alone"):
        list(commands.take_turns([Tool("eager", lambda _: ["sh", "-c", script])], *_one(tmp_path), 1))


def test_tool_that_refuses_a_good_deployment_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(WrongAnswerError, match="strict refuses a good Deployment: no"):
        commands.prove(Tool("strict", lambda _: ["sh", "-c", "echo no; exit 1"]), tmp_path, Machine.here())


def _one(folder: Path) -> tuple[commands.Case, Machine]:
    return commands.write_cases(folder, 2, 3)[0], Machine.here()


def test_process_that_hangs_is_killed() -> None:
    assert commands.perform(Tool("slow", lambda _: ["sleep", "60"]), Path(), Machine.here(), limit=0.1).status == -9


def test_cpu_time_of_children_that_end_is_counted() -> None:
    busy = ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]
    assert commands.perform(Tool("busy", lambda _: busy), Path(), Machine.here()).cpu > 0.02


@pytest.mark.usefixtures("unbuilt")
def test_peers_are_skipped_without_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    tools, skipped = commands.available()
    assert [tool.name for tool in tools] == [OURS]
    assert set(skipped) == {program.name for program in PROGRAMS}
    assert [reason for reason in skipped.values() if "Go is not on PATH" not in reason] == []


def test_committed_results_have_every_tool() -> None:
    found = load(commands.NAME)
    named = {figure.subject for figure in found.figures} | set(found.skipped)
    assert named == {OURS, *(one.name for one in PROGRAMS)}
