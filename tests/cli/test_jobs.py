"""`check -j`: worker processes give the same report in the same order, and end with their parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.deployments import good, wrong
from tests.cli.run import run
from tests.server.lines import Lines
from webhook.diagnostics import InputError
from webhook.dryrun.workers import ordered

pytestmark = pytest.mark.slow

PATIENCE = 30
POD = """kind: Pod
apiVersion: v1
metadata: {{name: pod-{number}}}
spec:
  containers: [{{name: c, securityContext: {{runAsUser: {user}}}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


def document(number: int) -> str:
    """One of several documents: valid, denied, with another user, malformed, unreadable, empty."""
    made: list[Callable[[int], str]] = [
        good,
        wrong,
        lambda number: POD.format(number=number, user=1000 + number % 5),
        lambda _: "kind: Pod\napiVersion: v1\nspec: {containers: {}}\n",
        lambda _: "a: [\n",
        lambda _: "# nothing\n",
    ]
    return made[number % len(made)](number)


@pytest.fixture(name="manifests", scope="module")
def _manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of several batches, and with many small files."""
    folder = tmp_path_factory.mktemp("manifests")
    (folder / "large.yaml").write_text("---\n".join(document(number) for number in range(1200)))
    for number in range(600):
        (folder / f"{number:03}.yaml").write_text(document(number))
    return folder


@pytest.mark.parametrize("output", ["text", "json"])
def test_report_is_same_with_workers(manifests: Path, output: str) -> None:
    alone = run("check", manifests, "-o", output)
    assert alone.code == 2
    assert "GPS008" in alone.out
    for jobs in (2, 5):
        assert run("check", manifests, "-o", output, "-j", jobs) == alone, jobs


def test_standard_input_is_checked_with_workers(manifests: Path) -> None:
    data = (manifests / "large.yaml").read_bytes()
    alone = run("check", "-", "-o", "json", stdin=data)
    assert run("check", "-", "-o", "json", "-j", "3", stdin=data) == alone


def test_empty_standard_input_is_reported_with_workers() -> None:
    assert run("check", "-", "-j", "2", stdin=b"# nothing\n") == run("check", "-", stdin=b"# nothing\n")


def test_zero_jobs_stand_for_cores(manifests: Path) -> None:
    assert run("check", manifests / "000.yaml", "-j", "0") == run("check", manifests / "000.yaml")


def children() -> set[str]:
    """The children of this process, some of which other tests may have started. A thread may end meanwhile."""
    found = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(file.read_text().split())
    return found


@settings(max_examples=20)
@given(st.lists(st.binary(max_size=200_000) | st.integers(), max_size=12), st.integers(1, 5))
def test_answers_have_the_order_of_tasks(tasks: list[bytes | int], jobs: int) -> None:
    before = children()
    with ordered(lambda task: (task, os.getpid()), jobs) as answers:
        found = list(answers(tasks))
    assert [task for task, _ in found] == tasks
    assert len({pid for _, pid in found}) <= jobs
    assert os.getpid() not in {pid for _, pid in found}
    assert children() == before


def test_workers_end_before_all_answers_are_taken() -> None:
    before = children()
    with ordered(str, 3) as answers:
        assert next(answers(iter(range(7)))) == "0"
        assert children() > before
    assert children() == before


def test_tasks_are_taken_as_answers_are() -> None:
    """Input of any length is not read ahead of the report."""
    tasks = iter(range(1, 1000))

    with ordered(str, 2) as answers:
        found = answers(tasks)
        assert [next(found) for _ in range(10)] == [str(number) for number in range(1, 11)]
        assert next(tasks) <= 10 + 2 * 2 + 1


def broken(*_: Any) -> NoReturn:
    raise ValueError("a defect")


def killed(*_: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_failure_in_worker_is_an_internal_error(manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.dryrun.check.evaluate", broken)
    alone, beside = run("check", manifests), run("check", manifests, "-j", "2")
    assert beside.code == alone.code == 3
    assert beside.err == alone.err
    assert beside.err.count("\n") == 1
    assert "ValueError at test_jobs.py" in beside.err


def test_killed_worker_ends_check_with_advice(manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.dryrun.check.evaluate", killed)
    ended = run("check", manifests, "-j", "2")
    assert ended.code == 2
    assert ended.err == "-j: a worker process was killed, perhaps for lack of memory; use fewer processes\n"


def test_unpicklable_answer_is_an_internal_error(manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.dryrun.check.answered", lambda *_: lambda: None)
    ended = run("check", manifests, "-j", "2")
    assert ended.code == 3
    assert ended.err.startswith("internal error: ")
    assert "pickle" in ended.err
    assert ended.err.count("\n") == 1


def test_dead_worker_is_noticed_when_it_gets_a_task() -> None:
    with pytest.raises(InputError, match="killed"), ordered(killed, 1 + 1) as answers:
        list(answers([b"x" * 1_000_000] * 6))


ENDLESS = """
import os
import webhook.dryrun.check as checking
from webhook.cli import main

def evaluate(*arguments):
    os.write(2, f"{os.getpid()}\\n".encode())
    return original(*arguments)

original, checking.evaluate = checking.evaluate, evaluate
main(["check", "-", "-j", "2", "--no-facts-from-inputs"])
"""


@contextmanager
def waiting_workers() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command with two workers that waits for more input, and a pipe that ends with the last of them."""
    ends, held = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=[held],
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell ignores it for background jobs
    ) as process:
        os.close(held)
        assert process.stdin is not None
        assert process.stderr is not None
        lines = Lines(process.stderr)
        try:
            process.stdin.write("---\n".join(good(number) for number in range(800)).encode())
            process.stdin.flush()
            first = lines.wait_for(lambda _: True)
            lines.wait_for(lambda line: line != first)
            yield process, ends
        finally:
            process.kill()
            lines.to_the_end()  # Popen closes the stream, which nothing may read then
            os.close(ends)


def assert_ended(ends: int) -> None:
    assert select.select([ends], [], [], PATIENCE)[0]
    assert os.read(ends, 1) == b""


@pytest.mark.slow
def test_interrupt_ends_workers() -> None:
    with waiting_workers() as (process, ends):
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdin is not None
        process.stdin.close()  # Python misses a signal that arrives just before a read that blocks
        assert process.wait(PATIENCE) == 130
        assert_ended(ends)


@pytest.mark.slow
def test_hang_up_ends_workers() -> None:
    with waiting_workers() as (process, ends):
        os.killpg(process.pid, signal.SIGHUP)
        assert process.wait(PATIENCE) == -signal.SIGHUP
        assert_ended(ends)


@pytest.mark.slow
def test_workers_end_with_killed_parent() -> None:
    with waiting_workers() as (process, ends):
        process.kill()
        assert_ended(ends)
