"""The servers that are compared, each in a process of its own on one core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.gotools import ToolsMissingError, go_program
from bench.machine import Machine, pinned
from tests.cluster.harness.interpreters import Interpreter, image

BENCH = Path(__file__).parent
CERTS = BENCH.parent / "certs"
AUTHORITY = CERTS / "ca.crt"
CERTIFICATE = CERTS / "tls.crt"
KEY = CERTS / "tls.key"

WEBHOOK = "gpushare-webhook"
CONSTANT = "constant answer"
TYPED = "Go controller-runtime"

_PATIENCE = 60
_TICKS = os.sysconf("SC_CLK_TCK")


class CandidateError(Exception):
    """A server does not start; the message has its name and its output."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server to compare: its name, its command, additional environment, and whether it makes decisions."""

    name: str
    command: Callable[[], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    decides: bool = True


def webhook(interpreter: Interpreter, *options: str, program: str = "webhook") -> list[str]:
    """The command of the webhook as this checkout has it, with its defaults: checks, proof, metrics, JSON log."""
    files = ["--tls-cert", str(CERTIFICATE), "--tls-key", str(KEY)]
    where = ["--host", "127.0.0.1", "--port", "0", "--health-port", "0"]
    return [*interpreter.command, "-m", program, "serve", *where, *files, *options]


def serving(name: str, interpreter: Interpreter, *options: str) -> Candidate:
    """The webhook as a candidate."""
    return Candidate(name, lambda: webhook(interpreter, *options), interpreter.environment)


def constant(interpreter: Interpreter) -> Candidate:
    """The server with a constant answer."""
    command = [*interpreter.command, str(BENCH / "peers/constant.py"), str(CERTIFICATE), str(KEY), "127.0.0.1", "0"]
    return Candidate(CONSTANT, lambda: command, interpreter.environment, decides=False)


def candidates() -> tuple[Candidate, ...]:
    """The webhook with the image's Python, and its peers. Raises ToolsMissingError."""
    ours = image()
    return (
        serving(WEBHOOK, ours),
        constant(ours),
        Candidate(
            TYPED,
            lambda: [str(go_program("peers/gowebhook")), str(CERTS), "127.0.0.1", "0"],
            environment={"GOMAXPROCS": "1"},
        ),
    )


def available() -> tuple[list[Candidate], dict[str, str]]:
    """The available candidates, and the reason for each other. The first call builds the Go programs.

    Raises ToolsMissingError without the image's Python, whose figures count.
    """
    usable, skipped = [], {}
    for candidate in candidates():
        try:
            candidate.command()
        except ToolsMissingError as problem:
            skipped[candidate.name] = str(problem)
        else:
            usable.append(candidate)
    return usable, skipped


def make_certificates() -> None:
    """Create certificates for localhost in `certs/` unless valid ones exist."""
    subprocess.run([sys.executable, str(CERTS / "generate.py")], check=True)


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready: its candidate, its ports, its process, and how many seconds its start took.

    Only the webhook has a port for health and metrics; for others it is 0.
    """

    candidate: Candidate
    port: int
    health_port: int
    pid: int
    started: float

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def cpu(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        """Resident memory in MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise CandidateError(f"{self.candidate.name}: no VmRSS")


@contextmanager
def running(candidate: Candidate, machine: Machine) -> Iterator[Running]:
    """Run a candidate on the server's core until the context ends.

    Its output is drained on the load's core, as a node's log collector does.
    """
    with ExitStack() as stack:
        began = time.monotonic()
        process = subprocess.Popen(
            candidate.command(),
            stdout=subprocess.PIPE,
            env=os.environ | candidate.environment,
            preexec_fn=pinned(machine.server),
        )
        stack.callback(_end, process)
        assert process.stdout is not None
        ready = ports(candidate.name, process.stdout)
        took = time.monotonic() - began
        reader = subprocess.Popen(
            ["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL, preexec_fn=pinned(machine.load)
        )
        stack.callback(_end, reader)
        yield Running(candidate, ready["port"], ready.get("healthPort", 0), process.pid, took)


def health(server: Running, path: str) -> tuple[int, str]:
    """Status and body of a page of the webhook's health port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.health_port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def ports(name: str, lines: IO[bytes]) -> dict[str, Any]:
    """The line that says that the server is ready, or that it listens and still reads facts, with its ports."""
    said = []
    for line in lines:
        said.append(line.decode(errors="replace"))
        event: dict[str, Any] = json.loads(line)
        if event.get("event") in ("ready", "listening"):
            return event
    raise CandidateError(f"{name} ends before it is ready: {''.join(said) or 'no output'}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(_PATIENCE)
    if process.stdout is not None:
        process.stdout.close()
