"""A cluster leaves the machine unchanged, after a stop and after its owner was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import leftovers
from tests.cluster.harness.cache import cache_root
from tests.cluster.harness.cluster import cluster
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.precautions import Machine
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.workspace import workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.alone

OWNER = """
from tests.cluster.harness.cluster import cluster
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.workspace import workspace
with cluster() as running, workspace(running, "owned") as space:
    space.start(pod("one"))
    print(running.place.folder, flush=True)
    input()
"""


@pytest.fixture
def before() -> Machine:
    return Machine.look()


def test_cluster_that_ran_gpu_pod_leaves_no_trace(before: Machine, needs_node: None) -> None:
    with cluster() as running, workspace(running, "no-trace") as space:
        space.start(pod("one"))
        during = Machine.look().changes(before)
        assert {"processes", "cgroups", "files"} <= during.keys(), "the look has to see a cluster, or it proves nothing"
        assert not {"settings", "mounts", "interfaces"} & during.keys(), during
    assert Machine.look().changes(before) == {}


def test_process_of_other_run_is_left_out(before: Machine, tmp_path: Path) -> None:
    """Programs of the cache that this run starts count; those of a run beside it come and go."""
    program = [sys.executable, "-c", "print('runs', flush=True); input()", str(cache_root())]
    other = tmp_path / "test_other.py"
    other.write_text(
        f"import subprocess\n\n\ndef test_program() -> None:\n    subprocess.run({program!r}, check=True)\n"
    )
    with _asking(program):
        assert "processes" in Machine.look().changes(before)
    with _asking([sys.executable, "-m", "pytest", "--quiet", "--capture=no", str(other)]):
        assert Machine.look().changes(before) == {}


@contextmanager
def _asking(command: list[str]) -> Iterator[None]:
    """A command that waits for input, as soon as its program runs."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        assert started.stdout.readline() == "runs\n"
        yield
        started.communicate("\n")
        assert started.returncode == 0


@contextmanager
def _owner_of_a_cluster() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that started a cluster and waits, and the cluster's folder."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        assert owner.stdout
        yield owner, Path(owner.stdout.readline().strip())
        assert owner.returncode == -signal.SIGKILL


@pytest.mark.exhaustive
def test_guard_removes_cluster_of_killed_owner(before: Machine, needs_node: None) -> None:
    with _owner_of_a_cluster() as (owner, folder):
        assert folder.is_dir()
        owner.kill()
        owner.wait()
    wait_for("the guard to clean up", lambda: not Machine.look().changes(before))


@pytest.mark.exhaustive
def test_next_start_removes_cluster_of_killed_owner_and_guard(before: Machine, needs_node: None) -> None:
    with _owner_of_a_cluster() as (owner, folder):
        noted = leftovers.recorded(folder)
        os.kill(noted["guard"].pid, signal.SIGKILL)
        owner.kill()
        owner.wait()
    wait_for("the kernel to end the namespaces", lambda: not noted["first"].alive)
    left = Machine.look().changes(before)
    assert {"cgroups", "files"} <= left.keys(), "there has to be something left, or the sweep proves nothing"
    assert leftovers.sweep() == [folder.name]
    assert Machine.look().changes(before) == {}


@pytest.mark.exhaustive
def test_cluster_of_other_live_owner_is_not_reported(before: Machine, needs_node: None) -> None:
    with _owner_of_a_cluster() as (owner, folder):
        assert folder.name in leftovers.others()
        assert Machine.look().changes(before) == {}
        owner.kill()
        owner.wait()
    wait_for("the guard to clean up", lambda: not folder.exists())
