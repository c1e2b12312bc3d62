"""The command line and other tools that check manifests: whole processes, cold start, one core."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Timer

from bench.deployments import WRONG, good, several, write_file, write_folder, wrong
from bench.machine import Machine, pinned
from bench.peers.programs import PROGRAMS
from bench.results import Bar, Figure, Ratio, Results
from bench.rounds import Rounds
from bench.table import number, table
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.interpreters import image

NAME = "commands"
OURS = "gpushare-webhook check"
WALL, CPU = "wall time", "CPU time"
METHOD = (
    "whole processes on one core, in turn; wall and CPU time of each by wait4, the "
    "median of its runs in a round; each run has to find the one Deployment that breaks the rule"
)

ONE_FILE = "one small file"
MANY = 2_000
VERY_MANY = 20_000
_RULES = Path(__file__).parent / "peers" / "rules"
_RUNS = 5
BARS = {ONE_FILE: Bar(most=0.08), f"{VERY_MANY:,} in one file": Bar(most=2)}
"""Goals for the wall time."""
_LIMIT = 120
"""Seconds after which a process is killed."""

_INTRO = """## The command line

`check` with all its checks beside tools with one rule, "limits of `nvidia.com/gpu` at most 1": kubeconform with a JSON
schema of the fields that occur, kyverno with one pattern (CEL takes five times as long). Whole processes on one core,
Deployments of 725 bytes, one of which breaks the rule.
"""


class WrongAnswerError(Exception):
    """A tool misses a violation or reports a false one, so its times are meaningless."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A command line: its name, its arguments for a file or folder, and its environment."""

    name: str
    command: Callable[[Path], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A file or folder to check, and whether only `check` does so."""

    title: str
    path: Path
    ours_alone: bool = False

    def is_for(self, tool: Tool) -> bool:
        """Whether a tool checks it."""
        return tool.name == OURS or not self.ours_alone


@dataclass(frozen=True, slots=True)
class Run:
    """One process: wall and CPU seconds, exit status, and output."""

    wall: float
    cpu: float
    status: int
    output: str


def run(machine: Machine, rounds: Rounds) -> Results:
    """Measure all available tools on all cases."""
    tools, skipped = available()
    # As an installer does: else a first run would compile every module, or each run where Python may not write.
    python = image()
    compiling = [*python.command, "-m", "compileall", "-q", str(Path(__file__).parents[1] / "webhook")]
    subprocess.run(compiling, env=os.environ | python.environment, check=True)
    with tempfile.TemporaryDirectory() as folder:
        cases = write_cases(Path(folder), rounds.many(MANY), rounds.many(VERY_MANY))
        for tool in tools:
            prove(tool, Path(folder), machine)
        taken: dict[tuple[Case, str], list[Run]] = {}
        for _ in range(rounds.count):
            for case in cases:
                asked = [tool for tool in tools if case.is_for(tool)]
                for name, middle in take_turns(asked, case, machine, rounds.many(_RUNS)):
                    taken.setdefault((case, name), []).append(middle)
    figures = tuple(figure for (case, name), runs in taken.items() for figure in _figures(case, name, runs))
    versions = ", ".join(f"{one.name} {one.version}" for one in PROGRAMS if one.name not in skipped)
    notes = (f"Compared with {versions}.",) if versions else ()
    return Results.of(NAME, machine, rounds, METHOD, figures, _ratios(figures), skipped, notes)


def available() -> tuple[list[Tool], dict[str, str]]:
    """The available tools, and the reason for each other."""
    python = image()
    ours = [*python.command, "-m", "webhook", "check", "-f"]
    tools, skipped = [Tool(OURS, lambda path: [*ours, str(path)], python.environment)], {}
    for program in PROGRAMS:
        try:
            binary = str(program.find())
        except ToolsMissingError as problem:
            skipped[program.name] = str(problem)
        else:
            tools.append(Tool(program.name, lambda path, binary=binary, name=program.name: _PEERS[name](binary, path)))  # type: ignore[misc]
    return tools, skipped


_PEERS: dict[str, Callable[[str, Path], list[str]]] = {
    "kubeconform": lambda binary, path: [
        *(binary, "-n", "1", "-schema-location", f"{_RULES}/{{{{.ResourceKind}}}}.json", str(path)),
    ],
    "kyverno": lambda binary, path: [binary, "apply", str(_RULES / "kyverno.yaml"), "--resource", str(path)],
}


def write_cases(folder: Path, many: int, very_many: int) -> list[Case]:
    """The files: one Deployment, many in one file, many in as many files, and very many in one file."""
    deployments = several(many)
    return [
        Case(ONE_FILE, write_file(folder / "one.yaml", [wrong(0)])),
        Case(f"{many:,} in one file", write_file(folder / "many.yaml", deployments)),
        Case(f"{many:,} files", write_folder(folder / "many", deployments)),
        Case(f"{very_many:,} in one file", write_file(folder / "very-many.yaml", several(very_many)), ours_alone=True),
    ]


def prove(tool: Tool, folder: Path, machine: Machine) -> None:
    """Check that a tool accepts valid Deployments; every run checks that it finds the wrong one.

    Raises WrongAnswerError.
    """
    passed = perform(tool, write_file(folder / "good.yaml", [good(0)]), machine)
    if passed.status:
        raise WrongAnswerError(f"{tool.name} refuses a good Deployment: {passed.output.strip()[-500:]}")


def take_turns(tools: list[Tool], case: Case, machine: Machine, runs: int) -> Iterator[tuple[str, Run]]:
    """The median run of each tool, of runs in turn, after a run that is not counted and warms the disk cache."""
    taken: dict[str, list[Run]] = {tool.name: [] for tool in tools}
    for tool in tools:
        _found(tool, case, machine)
    for _ in range(runs):
        for tool in tools:
            taken[tool.name].append(_found(tool, case, machine))
    for name, some in taken.items():
        yield name, Run(median(one.wall for one in some), median(one.cpu for one in some), some[0].status, "")


def _found(tool: Tool, case: Case, machine: Machine) -> Run:
    """One run, in which the tool has to find the Deployment that is wrong."""
    done = perform(tool, case.path, machine)
    if done.status != 1 or WRONG not in done.output or "inference-" in done.output:
        raise WrongAnswerError(
            f"{tool.name} ends with {done.status} for {case.title}, and should find {WRONG} alone: "
            f"{done.output.strip()[-500:]}"
        )
    return done


def perform(tool: Tool, path: Path, machine: Machine, limit: float = _LIMIT) -> Run:
    """Run a tool to its end. After `limit` seconds it is killed, and its status is -9."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            tool.command(path),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | tool.environment,
            preexec_fn=pinned(machine.server),
        )
        killer = Timer(limit, process.kill)
        killer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            killer.cancel()
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
        return Run(wall, used.ru_utime + used.ru_stime, process.returncode, text)


def _figures(case: Case, name: str, runs: list[Run]) -> Iterator[Figure]:
    bar = BARS.get(case.title) if name == OURS else None
    yield Figure(name, case.title, WALL, "s", tuple(one.wall for one in runs), bar)
    yield Figure(name, case.title, CPU, "s", tuple(one.cpu for one in runs))


def _ratios(figures: tuple[Figure, ...]) -> Iterator[Ratio]:
    """The wall time of `check` over that of each other project, which for many Deployments has to be below 1."""
    ours = {figure.case: figure for figure in figures if figure.subject == OURS and figure.quantity == WALL}
    for figure in figures:
        if figure.quantity == WALL and figure.subject != OURS:
            yield Ratio.between(ours[figure.case], figure, None if figure.case == ONE_FILE else Bar(most=1))


def section(found: Results) -> str:
    """The wall time of each tool in each case."""
    cases = dict.fromkeys(figure.case for figure in found.figures)
    written = {(one.case, one.subject): number(one.spread.middle) for one in found.having(quantity=WALL)}
    rows = [[tool, *(written.get((case, tool), "") for case in cases)] for tool in found.subjects]
    skipped = [f"{who} is skipped: {why}." for who, why in found.skipped.items()]
    return "\n".join([_INTRO, table(["tool, wall time in s", *cases], rows), *skipped]) + "\n"
