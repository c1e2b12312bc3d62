"""The folders in which commands run, so that reports have plain file names, and the signals that they start with."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cluster import FakeCluster, mixed, running

DATA = Path(__file__).parent / "data"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(DATA)
    return DATA


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for files, and the working directory of the command."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cluster() -> FakeCluster:
    """A cluster that nodes share in two ways. Files with another one have a fixture of their own."""
    return mixed()


@pytest.fixture
def prod(cluster: FakeCluster, here: Path) -> Iterator[tuple[str, ...]]:
    """The options that lead to the cluster."""
    with running(cluster, here) as file:
        yield "--kubeconfig", str(file), "--context", "prod"


@pytest.fixture(autouse=True)
def _usual_signals() -> Iterator[None]:
    """Commands that a test starts do not ignore SIGHUP, although the tests may run under nohup, nor SIGINT.

    A shell without job control starts what runs in the background with SIGINT ignored (POSIX, Asynchronous Lists).
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL), signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, action in zip((signal.SIGHUP, signal.SIGINT), before, strict=True):
        signal.signal(number, action)
