"""A pytest plugin that adds up the processor time of the tests by file: `--costs FILE` writes it as JSON.

Processor time, with that of the programs which a test has ended, changes little on a busy machine.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

_PROPERTY = "processor seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--costs", type=Path, help="write the processor time of the tests by file to this JSON file")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process that runs tests; add up in the one that reports them."""
    file: Path | None = config.getoption("--costs")
    if file is not None:
        config.pluginmanager.register(_Stopwatch())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Sums(file))


class _Stopwatch:
    """Notes what each test took with its last report: since the test before it ended, so that no fixture is lost."""

    def __init__(self) -> None:
        self._last = 0.0

    def pytest_collection_finish(self) -> None:
        """Begin."""
        self._last = _spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the time with the report of a test's teardown."""
        report = yield
        if call.when == "teardown":
            now = _spent()
            report.user_properties.append((_PROPERTY, now - self._last))
            self._last = now
        return report


class _Sums:
    """The time and the number of tests of each file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: dict[str, float] = defaultdict(float)
        self._tests: dict[str, int] = defaultdict(int)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one test."""
        for name, seconds in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                file = report.nodeid.partition("::")[0]
                self._seconds[file] += float(str(seconds))
                self._tests[file] += 1

    def pytest_sessionfinish(self) -> None:
        """Write the sums."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        sums = {file: [self._tests[file], round(self._seconds[file], 2)] for file in sorted(self._tests)}
        self._file.write_text(json.dumps(sums, indent=1))


def _spent() -> float:
    """Processor seconds of this process and of the programs that it has ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
