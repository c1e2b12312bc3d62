"""Instructions of each step of a review, counted by callgrind, so that the load of the machine does not matter.

valgrind executes the program on a processor of its own making, so that its counts do not depend on what else runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.candidates import AUTHORITY, make_certificates, ports, webhook
from bench.corpus import KINDS, Size, write
from bench.load_generator import Load, Report, generate
from tests.cluster.harness.interpreters import Interpreter

ROOT = Path(__file__).parents[1]
TIMEOUT = 600
_SECONDS = 110
_WARM_UP = 50
_MARK = "getppid"  # see bench.steps.mark
_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)

Counts = dict[tuple[str, str], float]
"""Instructions a review, by the title of the subject and the name of the step."""


class CannotCountError(Exception):
    """Instructions cannot be counted here; the message says why."""


def foundation(interpreter: Interpreter) -> str:
    """The versions that counts depend on besides this code: counts are comparable if these are equal."""
    return _run([*interpreter.command, "-m", "bench.foundation"], interpreter).strip()


def count(reviews: int, interpreter: Interpreter) -> Counts:
    """Instructions per review: those for `2 * reviews` minus those for `reviews`, so that one-time work cancels out.

    Raises CannotCountError.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "counts")
        marked = [*_callgrind(out), f"--dump-before={_MARK}"]
        printed = _run([*marked, *interpreter.command, "-m", "bench.steps", str(reviews)], interpreter)
        between = [json.loads(line) for line in printed.splitlines()]
        # Two dumps for each step: at its first mark with what preceded it, at its second mark with the step.
        totals = [_total(Path(f"{out}.{2 * number}")) for number in range(1, len(between) + 1)]
    counted = {(subject, step, many): total for (subject, step, many), total in zip(between, totals, strict=True)}
    return {
        (subject, step): (counted[subject, step, 2 * reviews] - counted[subject, step, reviews]) / reviews
        for subject, step, many in counted
        if many == reviews
    }


def count_served(size: Size, reviews: int, interpreter: Interpreter) -> dict[str, float]:
    """Instructions of a whole server per review, by kind, over one connection: HTTP, TLS, log and metrics included.

    The instructions of an idle server in the same time do not count. Raises CannotCountError, ToolsMissingError without
    the load generator, and CandidateError or LoadError where the server fails.
    """
    make_certificates()
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder, "counts"), interpreter) as server:
        return {kind: server.count(write(kind, size, Path(folder)), kind != "denied", reviews) for kind in KINDS}


@dataclass(slots=True)
class _Server:
    """A server under callgrind, which writes its counts since the last dump into the file with the next number."""

    pid: int
    port: int
    out: Path
    dumps: int = 0

    def count(self, bodies: Path, allowed: bool, reviews: int) -> float:
        """Instructions a review."""
        self._send(bodies, allowed, _WARM_UP)
        self._dump()
        report = self._send(bodies, allowed, reviews)
        busy = self._dump()
        time.sleep(report.seconds)  # noqa: TID251 - an idle server is measured for this time
        return (busy - self._dump()) / report.requests

    def _send(self, bodies: Path, allowed: bool, count: int) -> Report:
        load = Load(f"127.0.0.1:{self.port}", bodies, AUTHORITY, 1, _SECONDS, warmup=0, limit=count)
        report = generate(load)
        report.check("the webhook under callgrind", allowed)
        return report

    def _dump(self) -> int:
        subprocess.run(["callgrind_control", "--dump", str(self.pid)], check=True, capture_output=True, timeout=TIMEOUT)
        self.dumps += 1
        return _total(Path(f"{self.out}.{self.dumps}"))


@contextmanager
def _server(out: Path, interpreter: Interpreter) -> Iterator[_Server]:
    """A server that is ready. Raises CandidateError if it ends before."""
    command = [*_callgrind(out), *webhook(interpreter, program="bench.slowed")]
    process = subprocess.Popen(
        command, cwd=ROOT, env=_environment(interpreter), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdout is not None
        try:
            port = ports("the webhook under callgrind", process.stdout)["port"]
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield _Server(process.pid, port, out)
        finally:
            process.kill()


def _callgrind(out: Path) -> list[str]:
    if shutil.which("valgrind") is None:
        raise CannotCountError("valgrind is not on PATH (package valgrind)")
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]


def _environment(interpreter: Interpreter) -> dict[str, str]:
    """Hashes of text decide where entries of a dict lie, and so how many of them a look-up passes."""
    return {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", **interpreter.environment}


def _run(command: list[str], interpreter: Interpreter) -> str:
    """The output of a program. Raises CalledProcessError, whose notes have what the program says."""
    done = subprocess.run(
        command, cwd=ROOT, env=_environment(interpreter), capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    try:
        done.check_returncode()
    except subprocess.CalledProcessError as error:
        error.add_note(done.stderr.strip()[-2000:])
        raise
    return done.stdout


def _total(dump: Path) -> int:
    found = _TOTAL.search(dump.read_text())
    if found is None:
        raise CannotCountError(f"callgrind wrote no total into {dump.name}")
    return int(found[1])
