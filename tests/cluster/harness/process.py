"""One program of the cluster: started, watched, stopped by its own id, its output in one file."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tests.cluster.harness.proc import only_child
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


class ProcessEndedError(Exception):
    """A program that should run has ended; the message shows the end of its log."""


class Process:
    """A running program. With `forks` the command only enters namespaces, forks, and waits for the program proper."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        forks: bool = False,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | dict(environment or {}),
                cwd=folder,
            )
        self._forks = forks

    @property
    def pid(self) -> int:
        """The program's own id, as this process sees it."""
        return only_child(self._popen.pid) if self._forks else self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def wait_until(self, what: str, condition: Callable[[], bool], *, seconds: float = 180) -> None:
        """Wait for a condition. Raises `ProcessEndedError` when the program ends before, else `TimeoutError`."""

        def reached() -> bool:
            if not self.running:
                raise ProcessEndedError(f"{self.name} ended with {self._popen.returncode} before {what}\n{self.tail()}")
            return condition()

        try:
            wait_for(what, reached, seconds=seconds, every=0.05)
        except TimeoutError as late:
            raise TimeoutError(f"{late}\n{self.tail()}") from None

    def tail(self, lines: int = 25) -> str:
        """The end of its log."""
        end = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([f"--- {self.log}", *end])

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Keep the program from running during the block.

        `nsenter` suspends itself together with its child (util-linux sys-utils/nsenter.c, `continue_as_child`), and
        would stay suspended, so that both continue.
        """
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in {self._popen.pid, self.pid}:
                os.kill(pid, signal.SIGCONT)

    def stop(self, *, grace: float = 10) -> int:
        """End it: SIGTERM, and SIGKILL when it has not gone after `grace` seconds. Returns its exit status."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.running:
                break
            with suppress(ProcessLookupError, TimeoutError):  # it ends at this moment
                os.kill(self.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(grace)
        return self.reap()

    def reap(self) -> int:
        """Wait for one that has been ended; returns its exit status."""
        return self._popen.wait(10)
