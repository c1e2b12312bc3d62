"""`gpushare-webhook serve` in a separate process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from tests.server.certificates import Certificates
from tests.server.client import Client
from tests.server.lines import PATIENCE, Lines

SERVE = [sys.executable, "-m", "webhook", "serve", "--host", "127.0.0.1"]
FREE_PORTS = ["--port", "0", "--health-port", "0"]


class Serve:
    """A server that is ready: its process, its log, and a client for it."""

    def __init__(self, process: subprocess.Popen[bytes], certificates: Certificates) -> None:
        self.process = process
        assert process.stdout is not None
        assert process.stderr is not None
        self.log = Lines(process.stdout)
        self.errors = Lines(process.stderr)
        try:
            ready = self.log.event("ready")
        except AssertionError as error:
            raise AssertionError(f"the server does not start: {self.errors.so_far()}") from error
        self.client = Client(ready["port"], ready["healthPort"], certificates.trust())

    def cpu(self) -> float:
        """Seconds of processor time that the process has taken."""
        # In nanoseconds; `stat` counts hundredths of a second, as many as some tests measure in all.
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def memory(self, which: str = "VmRSS") -> int:
        """Bytes of the process's memory: `VmRSS` now, `VmHWM` the most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(which))

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; the exit code of the process."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def serve(certificates: Certificates, *options: str, **limits: object) -> Iterator[Serve]:
    """Run the server as a process with limits of its settings, which ends with the context.

    Without settings it does not wait for endpoints.
    """
    with NamedTemporaryFile("w", suffix=".yaml") as settings:
        json.dump({"server": {"shutdownDelay": "0s", **limits}}, settings)
        settings.flush()
        config = [] if "--config" in options else ["--config", settings.name]
        command = [*SERVE, *FREE_PORTS, *certificates.options, *config, *options]
        with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as process:
            yield Serve(process, certificates)


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End a process with the context, whatever happens within."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)


def run_serve(*options: str) -> subprocess.CompletedProcess[str]:
    """Run `serve` until it exits."""
    return subprocess.run(
        [*SERVE, *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
