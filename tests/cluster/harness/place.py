"""Where a cluster's programs run: in private namespaces, or, without the rights for them, on the machine's loopback."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tests.cluster.harness import guard, inside, leftovers
from tests.cluster.harness.proc import ProcessId
from tests.cluster.harness.process import Process
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Variables = Mapping[str, str]

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET of <linux/sched.h>


class Place(Protocol):
    """What a cluster needs to know of the place it runs in."""

    folder: Path
    address: str

    def port(self, usual: int) -> int:
        """A port to listen on: the usual one where nobody else can have it."""

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
        """End what runs here. The folder with its logs stays."""


def missing_rights() -> str:
    """Why private namespaces cannot be had here; empty when they can."""
    if os.geteuid():
        return "private namespaces need root"
    for program in ("unshare", "nsenter", "setpriv", "mount", "ip"):
        if not shutil.which(program):
            return f"{program} is not on PATH (packages util-linux and iproute2)"
    attempt = ["unshare", "--mount", "--net", "--pid", "--fork", "true"]
    return subprocess.run(attempt, capture_output=True, text=True, check=False).stderr.strip()


class Loopback:
    """On the machine itself, listening on its loopback address and on ports that were free."""

    address = "127.0.0.1"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "logs").mkdir()

    def port(self, usual: int) -> int:  # noqa: ARG002
        with socket.create_server((self.address, 0)) as taken:
            return int(taken.getsockname()[1])

    def command(self, command: Sequence[str]) -> list[str]:
        return list(command)

    def start(
        self, name: str, command: Sequence[str], *, environment: Variables | None = None, folder: Path | None = None
    ) -> Process:
        # The kernel ends the program when this process ends, so that a killed test run leaves none.
        bound = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        return Process(name, bound, log=self.folder / "logs" / f"{name}.log", environment=environment, folder=folder)

    def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        return socket.create_connection((host, port), timeout=seconds)

    def listen(self) -> socket.socket:
        return socket.create_server((self.address, 0))

    def close(self) -> None:
        """Nothing: every program is stopped by who started it."""


class Namespaces:
    """In mount, network, process, IPC and host name namespaces of its own; see `harness.guard` and `harness.inside`."""

    address = inside.NODE_ADDRESS

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "logs").mkdir()
        log = folder / "logs" / "guard.log"
        with log.open("wb") as output:
            self._guard = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.harness.guard", str(folder), folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
                start_new_session=True,
            )
        leftovers.record(folder, guard=ProcessId.of(self._guard.pid))
        assert self._guard.stdout
        first = self._guard.stdout.readline().strip()
        if not first:
            raise RuntimeError(f"the namespaces could not be made: {log.read_text()}")
        self._first = ProcessId.of(int(first))
        leftovers.record(folder, first=self._first)
        wait_for(f"the namespaces ({log})", lambda: self._fenced(log), seconds=20, every=0.02)

    def _fenced(self, log: Path) -> bool:
        if not (self._first and self._first.alive):
            raise RuntimeError(f"the namespaces could not be set up: {log.read_text()}")
        return (self.folder / "inside-ready").exists()

    @property
    def first(self) -> int:
        """The id of the first process in the namespaces, as the machine sees it."""
        assert self._first
        return self._first.pid

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
        return Process(name, self.command(here), log=log, forks=True, environment=environment)

    def run(self, command: Sequence[str], *, environment: Variables | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end in here; what it says comes back, whatever its status."""
        entered, variables = self.command(command), os.environ | dict(environment or {})
        return subprocess.run(entered, env=variables, capture_output=True, text=True, timeout=120, check=False)

    def path(self, path: str) -> Path:
        """A path in here, as the outside can open it."""
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
        self._guard.communicate(guard.ORDERLY, timeout=40)
        if self._guard.returncode:
            raise RuntimeError(f"the guard ended with {self._guard.returncode}: see {self.folder}/logs/guard.log")
