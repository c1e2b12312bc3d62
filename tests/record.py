"""A pytest plugin that records what ran, what did not, and why: `--record FILE`; tests/summary.py adds the records up.

In CI a skipped test fails: everything that the tests need has to be there.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from tests.exhaustive import is_exhaustive, is_left_out
from tests.speed import Speed

EXHAUSTIVE = "exhaustive"
"""The name below which the tests that are marked so are counted."""

PROPERTY = "processor seconds of "
"""The beginning of the name of the property under which a report has the time of a test, before its file."""
_LEFT_OUT = "left out"
_ROOT = Path(__file__).parents[1]


@dataclass
class Record:
    """What a run of pytest did.

    `tests` and `seconds` of processor time, scaled by tests/speed.py, are counted by file, `skipped` by reason. The
    exhaustive tests that ran are counted below EXHAUSTIVE instead; `left_out` names those that did not, since several
    runs may leave out the same.
    """

    tests: dict[str, int] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    left_out: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=Counter)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--record", type=Path, help="write a record of the run to this JSON file")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process that runs tests, and record in the one that reports them."""
    if (file := cast(Path | None, config.getoption("--record"))) is not None:
        stopwatch = _Stopwatch()
        config.pluginmanager.register(stopwatch)
        output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        config.pluginmanager.register(_Recorder(file, stopwatch) if output is None else _Messenger(output, stopwatch))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count a skipped test as failed in CI."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"in CI a skip is a failure: {_reason(report)}"
    return report


class _Stopwatch:
    """Notes what each test took with its last report: since the test before it ended, so that no fixture is lost."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._speed = Speed()
        self._last = 0.0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Name the exhaustive tests that are left out."""
        self.left_out += [f"{_file(item)}::{item.nodeid.partition('::')[2]}" for item in items if is_left_out(item)]

    def pytest_collection_finish(self) -> None:
        """Begin."""
        self._last = _spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the time with the report of a test's teardown."""
        report = yield
        if call.when == "teardown":
            file = EXHAUSTIVE if is_exhaustive(item) else _file(item)
            report.user_properties.append((PROPERTY + file, self._speed.scaled(_spent() - self._last)))
            self._last = _spent()
        return report


class _Messenger:
    """Hands what a worker leaves out to the process that records."""

    def __init__(self, output: dict[str, Any], stopwatch: _Stopwatch) -> None:
        self._output = output
        self._stopwatch = stopwatch

    def pytest_sessionfinish(self) -> None:
        """Hand it over."""
        self._output[_LEFT_OUT] = self._stopwatch.left_out


class _Recorder:
    """Adds up the reports of a run."""

    def __init__(self, file: Path, stopwatch: _Stopwatch) -> None:
        self._file = file
        self._record = Record(left_out=stopwatch.left_out)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a report."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._record.skipped[_reason(report)] += 1
        for name, seconds in report.user_properties:
            if name.startswith(PROPERTY) and report.when == "teardown":
                file = name.removeprefix(PROPERTY)
                self._record.tests[file] += 1
                self._record.seconds[file] += float(str(seconds))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker left out: all leave out the same."""
        self._record.left_out = getattr(node, "workeroutput", {}).get(_LEFT_OUT, self._record.left_out)

    def pytest_sessionfinish(self) -> None:
        """Write the record."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(vars(self._record), indent=1))


def read(file: Path) -> Record:
    """Read a record."""
    return Record(**json.loads(file.read_text()))


def _file(item: pytest.Item) -> str:
    """The file of a test, from the repository's root."""
    return os.path.relpath(item.path, _ROOT)


def _reason(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longreprtext)


def _spent() -> float:
    """Processor seconds of this process and of the programs that it has ended.

    They change little on a busy machine.
    """
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
