"""Processes, as the kernel describes them in /proc."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.harness.waiting import wait_for

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process. The kernel reuses numbers, but not with the same start time in the same boot."""

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The identity of a living process; None when there is none (a zombie counts as none)."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The name in parentheses may hold anything; then come the state and, as field 22 of all, the start.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]), _BOOT.read_text().strip())

    @property
    def alive(self) -> bool:
        """Whether exactly this process still runs."""
        return ProcessId.of(self.pid) == self

    def kill(self, seconds: float = 10) -> None:
        """Kill exactly this process if it still runs. Raises `TimeoutError` if it does not end."""
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
            wait_for(f"the end of process {self.pid}", lambda: not self.alive, seconds=seconds, every=0.02)


def ancestors(pid: int) -> set[int]:
    """The numbers of a process, its parent, and so on; as far as they are alive."""
    line: set[int] = set()
    while pid and pid not in line:
        line.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            break
    return line


def only_child(pid: int) -> int:
    """The one child of a process such as nsenter or unshare, which fork and then wait for the program.

    Raises `TimeoutError` when it has none.
    """
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return int(wait_for(f"the child of process {pid}", lambda: children.read_text().split(), seconds=5, every=0.01)[0])
