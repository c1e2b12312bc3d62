"""The place where a cluster's programs run: private namespaces, or, without the rights, the machine's loopback."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tests.cluster.harness import cgroups, guard, inside, leftovers
from tests.cluster.harness.proc import ProcessId
from tests.cluster.harness.process import Process
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Variables = Mapping[str, str]

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET of <linux/sched.h>
_FIRST_PORT = 20_000


class Place(Protocol):
    """A place that a cluster runs in."""

    folder: Path
    address: str

    def port(self, usual: int) -> int:
        """A port to listen on: the usual one in a private network."""

    def command(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command to its end in this place."""

    def start(
        self, name: str, command: Sequence[str], *, environment: Variables | None = None, folder: Path | None = None
    ) -> Process:
        """Start a program here; its output goes to `FOLDER/logs/NAME.log`."""

    def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        """A TCP connection as a program in this place would make it."""

    def listen(self) -> socket.socket:
        """A socket that listens at this place's address, on any free port."""

    def close(self) -> None:
        """Stop everything that was started here. The folder with the logs stays."""


def missing_rights() -> str:
    """The reason why private namespaces are not available here; empty if they are."""
    if os.geteuid():
        return "private namespaces need root"
    for program in ("unshare", "nsenter", "setpriv", "mount", "ip"):
        if not shutil.which(program):
            return f"{program} is not on PATH (packages util-linux and iproute2)"
    if sealed := [str(hierarchy) for hierarchy in cgroups.hierarchies() if not os.access(hierarchy, os.W_OK)]:
        return f"cgroups cannot be made in {', '.join(sealed)}"
    attempt = ["unshare", "--mount", "--net", "--pid", "--fork", "true"]
    return subprocess.run(attempt, capture_output=True, text=True, check=False).stderr.strip()


class Loopback:
    """On the machine itself, listening on its loopback address and on ports that were free."""

    address = "127.0.0.1"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "logs").mkdir()
        self._started: list[Process] = []
        self._reserved: list[socket.socket] = []

    def port(self, usual: int) -> int:  # noqa: ARG002
        """A free port, reserved for this place until it closes.

        It lies below those that the kernel gives to outgoing connections: one of them may take a port before the
        program listens on it. An abstract socket reserves the port among the processes of a test run.
        """
        first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        for port in range(_FIRST_PORT, first_outgoing):
            reservation = socket.socket(socket.AF_UNIX)
            try:
                reservation.bind(f"\0gpushare-webhook port {port}")
                socket.create_server((self.address, port)).close()
            except OSError:
                reservation.close()
                continue
            self._reserved.append(reservation)
            return port
        raise LookupError(f"no port from {_FIRST_PORT} to {first_outgoing} is free")

    def command(self, command: Sequence[str]) -> list[str]:
        return list(command)

    def start(
        self, name: str, command: Sequence[str], *, environment: Variables | None = None, folder: Path | None = None
    ) -> Process:
        # The kernel ends the program when this process ends, so that a killed test run leaves no program behind.
        bound = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        log = self.folder / "logs" / f"{name}.log"
        self._started.append(Process(name, bound, log=log, environment=environment, folder=folder))
        return self._started[-1]

    def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        return socket.create_connection((host, port), timeout=seconds)

    def listen(self) -> socket.socket:
        return socket.create_server((self.address, 0))

    def close(self) -> None:
        for process in reversed(self._started):
            process.stop()
        for reservation in self._reserved:
            reservation.close()


class Namespaces:
    """In mount, network, process, IPC and host name namespaces of its own; see `harness.guard` and `harness.inside`."""

    address = inside.NODE_ADDRESS

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "logs").mkdir()
        self._log = folder / "logs" / "guard.log"
        self._started: list[Process] = []
        self._guard = self._start_guard()
        try:
            self.first = self._await_first()
        except BaseException:
            self.close()
            raise

    def _start_guard(self) -> subprocess.Popen[str]:
        with self._log.open("wb") as output:
            started = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.harness.guard", str(self.folder), self.folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
                start_new_session=True,
            )
        leftovers.record(self.folder, guard=ProcessId.of(started.pid))
        return started

    def _await_first(self) -> int:
        """The id of the first process in the namespaces, as the machine sees it, once they are fenced."""
        assert self._guard.stdout
        number = self._guard.stdout.readline().strip()
        first = ProcessId.of(int(number)) if number else None
        leftovers.record(self.folder, first=first)

        def fenced() -> bool:
            if not (first and first.alive):
                raise RuntimeError(f"the namespaces could not be set up: {self._log.read_text()}")
            return (self.folder / "inside-ready").exists()

        wait_for(f"the namespaces ({self._log})", fenced, every=0.02)
        return int(number)

    def port(self, usual: int) -> int:
        return usual

    def command(self, command: Sequence[str]) -> list[str]:
        return ["nsenter", "--target", str(self.first), "--mount", "--net", "--ipc", "--uts", "--pid", "--", *command]

    def start(
        self, name: str, command: Sequence[str], *, environment: Variables | None = None, folder: Path | None = None
    ) -> Process:
        # Entering a mount namespace leads to its root folder, so that `env` has to change to the wanted one.
        here = ["env", f"--chdir={folder}", *command] if folder else command
        log = self.folder / "logs" / f"{name}.log"
        self._started.append(Process(name, self.command(here), log=log, forks=True, environment=environment))
        return self._started[-1]

    def run(self, command: Sequence[str], *, environment: Variables | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in here and return its result, whatever the exit status."""
        entered, variables = self.command(command), os.environ | dict(environment or {})
        return subprocess.run(entered, env=variables, capture_output=True, text=True, timeout=120, check=False)

    def cover(self, path: str) -> None:
        """Mount an empty file system in memory over a folder of the machine; the cluster's own folder stays there.

        Call it before pods start. Raises `RuntimeError`.
        """
        aside, folder = "/run/aside", shlex.quote(str(self.folder))
        steps = [
            f"mkdir {aside}",
            f"mount --bind {folder} {aside}",
            f"mount -t tmpfs tmpfs {shlex.quote(path)}",
            f"mkdir -p {folder}",
            f"mount --bind {aside} {folder}",
            f"umount {aside}",
            f"rmdir {aside}",
        ]
        done = self.run(["sh", "-c", " && ".join(steps)])
        if done.returncode:
            raise RuntimeError(f"{path} could not be covered: {done.stderr.strip()}")

    def path(self, path: str) -> Path:
        """A path in here, as a process outside opens it."""
        return Path(f"/proc/{self.first}/root{path}")

    def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        return self._made_inside(lambda: socket.create_connection((host, port), timeout=seconds))

    def listen(self) -> socket.socket:
        return self._made_inside(lambda: socket.create_server((self.address, 0)))

    def _made_inside(self, make: Callable[[], socket.socket]) -> socket.socket:
        """A socket stays in the network it was made in, and a thread can enter one by itself: one does, and ends."""
        with ThreadPoolExecutor(1) as visitor:
            visitor.submit(self._enter_network).result()
            return visitor.submit(make).result()

    def _enter_network(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{self.first}/ns/net").open("rb") as network:
            if libc.setns(network.fileno(), _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), "cannot enter the cluster's network")

    def close(self) -> None:
        self._guard.communicate(guard.ORDERLY, timeout=60)
        for process in self._started:
            process.reap()
        if self._guard.returncode:
            raise RuntimeError(f"the guard ended with {self._guard.returncode}: {self._log.read_text()}")
