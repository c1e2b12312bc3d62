"""The first process in a cluster's namespaces: it fences the machine off, then reaps what the cluster leaves behind.

Run as a module with FOLDER it is process 1 of fresh mount, network, process, IPC and host name namespaces.
Whatever a component tries, it can write only to FOLDER, to file systems in memory that end with the namespaces, and to
the settings of the private network.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

NODE_ADDRESS = "10.99.0.1"

# The kubelet writes these values to the kernel unless they are set (setupKernelTunables in its source).
KUBELET_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def main() -> None:
    """Set up, create the file `inside-ready`, and reap processes until the namespaces are ended from outside."""
    folder = Path(sys.argv[1])
    fence_files(folder)
    fence_kernel_settings(folder / "kernel-settings")
    bring_up_network()
    (folder / "inside-ready").touch()
    reap()


def fence_files(folder: Path) -> None:
    """Make the machine's files read-only here, and mount folders at the fixed paths of kubelet and containerd."""
    _run("mount", "--make-rshared", "/")  # containers want shared mounts; the group is cut off from the machine's
    _run("mount", "--bind", str(folder), str(folder))
    _run("mount", "-o", "remount,bind,ro", "/")
    for scratch in ("/run", "/var/lib", "/var/log", "/dev/shm"):  # noqa: S108
        _run("mount", "-t", "tmpfs", "tmpfs", scratch)
    # etcd writes to memory: while the machine's disk is busy, a write there can take longer than a request may.
    store = Path("/var/lib/etcd")
    store.mkdir(mode=0o700)
    (folder / "etcd").symlink_to(store)
    for name in ("kubelet", "containerd"):
        kept, fixed = folder / name, Path("/var/lib", name)
        kept.mkdir()
        fixed.mkdir()
        _run("mount", "--bind", str(kept), str(fixed))


def fence_kernel_settings(folder: Path) -> None:
    """Make /proc/sys read-only except for the private network, and show the kubelet the values it expects."""
    _run("mount", "--bind", "/proc/sys", "/proc/sys")
    _run("mount", "-o", "remount,bind,ro", "/proc/sys")
    _run("mount", "--bind", "/proc/sys/net", "/proc/sys/net")
    _run("mount", "-o", "remount,bind,rw", "/proc/sys/net")
    folder.mkdir()
    for number, (setting, value) in enumerate(KUBELET_SETTINGS.items()):
        shown = folder / str(number)
        shown.write_text(value + "\n")
        _run("mount", "--bind", str(shown), f"/proc/sys/{setting}")
        _run("mount", "-o", "remount,bind,ro", f"/proc/sys/{setting}")


def bring_up_network() -> None:
    """A bridge with the node's address: the kubelet refuses loopback, and the API server needs one to advertise."""
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "name", "node", "type", "bridge")
    _run("ip", "address", "add", f"{NODE_ADDRESS}/24", "dev", "node")
    _run("ip", "link", "set", "node", "up")
    _run("ip", "route", "add", "default", "dev", "node")


def reap() -> None:
    """Reap orphans forever, such as the shims of containers."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.sigwait({signal.SIGCHLD})


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
