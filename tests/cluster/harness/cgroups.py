"""The control groups of a cluster: one folder of its own in every hierarchy, and all of its pods below it."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.cluster.harness.waiting import wait_for

# Ten times what a new group weighs, in version 1 and in version 2. All pods of a cluster lie below one group; to the
# kernel they would be one process among those of the control plane and the tests, and starve on a busy machine.
_WEIGHT = {"cpu.shares": "10240", "cpu.weight": "1000"}


def hierarchies() -> list[Path]:
    """Mount points of the hierarchies: one per controller in version 1, a single one in version 2."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted({Path(fields[4]) for fields in mounts if fields[fields.index("-") + 1] in {"cgroup", "cgroup2"}})


def create(name: str) -> None:
    """Create the cluster's folder in every hierarchy, as the kubelet expects it."""
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir()
        for setting in ("cpuset.cpus", "cpuset.mems"):
            # A new group of cpuset version 1 has no processors, and nothing can run in it.
            if (hierarchy / setting).is_file():
                (group / setting).write_text((hierarchy / setting).read_text())
        for setting, weight in _WEIGHT.items():
            if (group / setting).is_file():
                (group / setting).write_text(weight)


def remove(name: str) -> None:
    """Remove the cluster's folders with all below; their processes must have been ended.

    Raises `TimeoutError` when one stays busy.
    """
    for hierarchy in hierarchies():
        wait_for(f"{hierarchy / name} to be removed", partial(_removed, hierarchy / name), seconds=10)


def _removed(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):  # busy: the kernel lets go of a dead process a moment later
            Path(folder).rmdir()
    return not group.exists()
