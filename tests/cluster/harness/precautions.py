"""The parts of the machine that a cluster could change, recorded before and after to prove that it did not."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.harness import cgroups, leftovers
from tests.cluster.harness.cache import cache_root
from tests.cluster.harness.proc import ProcessId, ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Kernel values that change by themselves: counters, and one rate that the kernel tunes to the load.
_RESTLESS = (
    *("fs/dentry-state", "fs/file-nr", "fs/inode-", "fs/aio-nr", "fs/quota/"),
    *("kernel/random/", "kernel/ns_last_pid", "kernel/pty/nr"),
)
_TUNED = ("kernel/perf_event_max_sample_rate", "net/netfilter/nf_conntrack_count")

# Where Kubernetes, containerd, runc, CNI and NVIDIA's programs write on a machine of their own.
_PATHS = (
    *("/etc/cni", "/etc/containerd", "/etc/kubernetes", "/etc/cdi", "/etc/nvidia", "/opt/cni", "/opt/containerd"),
    *("/run/containerd", "/run/runc", "/run/netns", "/run/nvidia", "/run/kubernetes", "/run/cdi", "/run/xtables.lock"),
    *("/usr/libexec/kubernetes", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/var/lib/kube-proxy"),
    *("/var/lib/etcd", "/var/log/pods", "/var/log/containers", "/var/run/kubernetes", "/dev/shm"),  # noqa: S108
)


@dataclass(frozen=True, slots=True)
class Machine:
    """The state of the machine at one time."""

    settings: frozenset[str]
    mounts: frozenset[str]
    cgroups: frozenset[str]
    interfaces: frozenset[str]
    files: frozenset[str]
    processes: frozenset[str]

    @classmethod
    def look(cls) -> Machine:
        """Record the current state. Clusters of other live owners are left out: they come and go independently."""
        others = leftovers.others()
        return cls(
            _settings(),
            _mounts(),
            _without(others, _cgroups()),
            _interfaces(),
            _without(others, _files()),
            _processes({owner.pid for owner in others.values()}),
        )

    def changes(self, before: Machine) -> dict[str, list[str]]:
        """What was added (`+`) and removed (`-`) since `before`; empty if nothing changed."""
        found: dict[str, list[str]] = {}
        for field in fields(self):
            old, new = getattr(before, field.name), getattr(self, field.name)
            if differences := [*(f"+ {one}" for one in sorted(new - old)), *(f"- {one}" for one in sorted(old - new))]:
                found[field.name] = differences
        return found


def _settings() -> frozenset[str]:
    root = Path("/proc/sys")
    found = set()
    for path in _below(root):
        name = path.relative_to(root).as_posix()
        if path.is_dir() or name.startswith(_RESTLESS) or name in _TUNED:
            continue
        try:
            found.add(f"{name} = {path.read_text(errors='replace').strip()}")
        except OSError:  # some may only be written, some only be read on other hardware
            continue
    return frozenset(found)


def _mounts() -> frozenset[str]:
    """Mount points with what is mounted, without the leading numbers, which the kernel assigns freshly."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return frozenset(" ".join((at[3], at[4], *at[at.index("-") + 1 :])) for at in lines)


def _cgroups() -> frozenset[str]:
    """Top-level groups, and those of Kubernetes and this harness wherever they are; systemd's own come and go."""
    names = ("gpushare-", "kube", "k8s.io", "cri-containerd")
    found = set()
    for hierarchy in cgroups.hierarchies():
        for group in _below(hierarchy):
            top_level = group.parent == hierarchy and group.suffix not in {".slice", ".scope", ".service", ".mount"}
            if group.is_dir() and (top_level or group.name.startswith(names)):
                found.add(str(group))
    return frozenset(found)


def _interfaces() -> frozenset[str]:
    return frozenset(path.name for path in Path("/sys/class/net").iterdir())


def _files() -> frozenset[str]:
    found = {path for path in map(Path, _PATHS) if path.exists()}
    below = [path for root in found for path in _below(root)]
    return frozenset(map(str, [*found, *below, *leftovers.folders().glob("gpushare-*")]))


def _without(names: Iterable[str], found: frozenset[str]) -> frozenset[str]:
    return frozenset(one for one in found if not any(name in one for name in names))


def _processes(other_owners: set[int]) -> frozenset[str]:
    """Processes of this harness: in other process namespaces than this one's, or run from its folders."""
    mine, lineage = Path("/proc/self/ns/pid").readlink(), ancestors(os.getpid())
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            foreign = (entry / "ns/pid").readlink() != mine
            command = _words(entry)
        except OSError:  # it has ended
            continue
        from_folders = any(str(folder) in word for folder in (cache_root(), leftovers.folders()) for word in command)
        process = ProcessId.of(int(entry.name)) if foreign or from_folders else None
        if process is None:
            continue
        others = ancestors(process.pid) - lineage
        if not others & other_owners and not any(map(_is_pytest, others)):
            found.add(f"{process.pid} {process.started} {' '.join(command)}")
    return frozenset(found)


def _is_pytest(pid: int) -> bool:
    """Whether a process is a run of pytest: what another run starts may come and go at the same time."""
    try:
        return any(Path(word).name == "pytest" for word in _words(Path(f"/proc/{pid}")))
    except OSError:  # it has ended
        return False


def _words(process: Path) -> list[str]:
    return (process / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")


def _below(root: Path) -> Iterator[Path]:
    """All paths below a folder. A path that vanishes meanwhile is left out."""
    for folder, folders_in, files in os.walk(root):
        yield from (Path(folder, name) for name in (*folders_in, *files))
