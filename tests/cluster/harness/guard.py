"""The process that owns a cluster's namespaces, and ends them when the test process ends for any reason.

Run as a module with FOLDER and NAME it starts `harness.inside` in fresh namespaces and waits for the end of its input.
The kernel closes that pipe when the test process dies. Ending process 1 of the namespaces ends all that run in them,
mounts and network go with them, and the guard removes the cgroups. When the guard itself is killed, the kernel ends the
namespaces in the same way; cgroups and folder are then left to the next start (`harness.leftovers`).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.cluster.harness import cgroups
from tests.cluster.harness.proc import only_child
from tests.cluster.harness.waiting import wait_for

ORDERLY = "stop\n"

# setpriv ties the namespaces to the guard's life, --kill-child ties process 1 to unshare's.
_UNSHARE = (
    *("setpriv", "--pdeathsig", "KILL", "--"),
    *("unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--propagation", "private"),
    *("--fork", "--kill-child=KILL", "--mount-proc", "--"),
)


def main() -> int:
    """Start, print the id of process 1, wait for the end of input, stop. Without an orderly stop remove FOLDER too."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # The test process handles Ctrl-C of a terminal.
    try:
        cgroups.create(name)
        orderly = keep_namespaces(folder)
    finally:
        cgroups.remove(name)
    if not orderly:
        shutil.rmtree(folder)
    return 0


def keep_namespaces(folder: Path) -> bool:
    """Create the namespaces, keep them until the end of input, and end them. Return whether the input asked for it."""
    inside = [sys.executable, "-m", "tests.cluster.harness.inside", str(folder)]
    unshare = subprocess.Popen([*_UNSHARE, *inside], stdin=subprocess.DEVNULL, stdout=sys.stderr)
    first = only_child(unshare.pid)
    try:
        print(first, flush=True)
        return sys.stdin.read() == ORDERLY
    finally:
        # When it dies, process 1 dies, and with it every other process in the namespaces.
        unshare.kill()
        unshare.wait()
        wait_for("the end of the namespaces", lambda: not Path(f"/proc/{first}").exists(), every=0.02)


if __name__ == "__main__":
    raise SystemExit(main())
