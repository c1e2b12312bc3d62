"""`top` on a real cluster: held replicas are those that the scheduler counts, also with 5,000 nodes and pods."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.command import command
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import GPU, container, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster, ControlPlaneOnly
    from tests.cluster.harness.workspace import Workspace

MANY = 5_000
SHARES = 4
LABELS = {"mps.capable": "true", "gpu.replicas": str(SHARES), "gpu.memory": "40960"}


def rows(cluster: Cluster, *options: str) -> list[Object]:
    """The rows of the report."""
    ended = command(cluster, "top", "-o", "json", *options)
    assert ended.returncode == 0, ended.stderr
    found: list[Object] = json.loads(ended.stdout)["rows"]
    return found


def row_of_node(cluster: Cluster) -> Object:
    """The row of the node with a kubelet; other tests may have left a name behind that other nodes offered."""
    (found,) = (row for row in rows(cluster) if row["node"] == NODE and row["resource"] == GPU)
    return found


def test_held_replicas_leave_what_scheduler_still_grants(cluster: Cluster, space: Workspace) -> None:
    before = row_of_node(cluster)
    space.start(pod("one"))
    space.start(pod("two", container("a"), container("b")))
    row = row_of_node(cluster)
    assert row["held"] - before["held"] == 3
    assert [one["name"] for one in row["holders"] if one["namespace"] == space.name] == ["two", "one"]
    assert row["total"] == 10
    free = row["total"] - row["held"]
    for number in range(free):
        space.start(pod(f"more-{number}"))
    space.api.create(space.pods, pod("none-left"))
    assert f"Insufficient {GPU}" in space.wait_event("none-left", "FailedScheduling")["message"]
    full = row_of_node(cluster)
    assert full["held"] == full["total"]


def test_rejected_pods_hold_nothing(cluster: Cluster, space: Workspace) -> None:
    space.api.create(space.pods, pod("two", container(gpus=2)))
    space.wait_pod("two", "to be rejected", lambda found: found["status"].get("reason") == "UnexpectedAdmissionError")
    (of_space,) = (row for row in rows(cluster, "--by", "namespace", "-A") if row["namespace"] == space.name)
    assert (of_space["held"], of_space["rejected"]) == (0, 1)


@pytest.fixture(scope="module")
def many(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane with many nodes and bound pods, without the controllers that would find no kubelet there."""
    options = ControlPlaneOptions(api_server_flags=("--disable-admission-plugins=TaintNodesByCondition",))
    with control_plane(options, place=Loopback) as running:
        for name in ("controller-manager", "scheduler"):
            running.control.processes[name].stop()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda part: _fill(running, range(part, MANY, 4)), range(4)))
        yield running


def _fill(running: ControlPlaneOnly, numbers: range) -> None:
    """Create nodes, each with a pod, over one connection."""
    labels = {f"nvidia.com/{key}": value for key, value in LABELS.items()}
    room = {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: str(SHARES)}
    with closing(running.api.connection()) as connection:
        for number in numbers:
            name = f"gpu-{number:05}"
            node = {"metadata": {"name": name, "labels": labels}, "status": {"capacity": room, "allocatable": room}}
            bound = pod(f"train-{number:05}", container(gpus=1))
            bound["spec"] |= {"nodeName": name, "automountServiceAccountToken": False}
            for path, body in (("/api/v1/nodes", node), ("/api/v1/namespaces/default/pods", bound)):
                connection.request("POST", path, json.dumps(body), running.api.headers())
                answer = connection.getresponse()
                text = answer.read()
                assert answer.status == 201, text


@pytest.mark.exhaustive
def test_thousands_of_nodes_and_pods(many: ControlPlaneOnly, record_property: Callable[[str, object], None]) -> None:
    found = timed(many, record_property, "top")["rows"]
    assert len(found) == MANY
    assert {(row["held"], row["total"], row["shareMiB"]) for row in found} == {(1, SHARES, 10240)}


@pytest.mark.exhaustive
def test_cause_among_thousands_of_nodes(many: ControlPlaneOnly, record_property: Callable[[str, object], None]) -> None:
    many.api.create("/api/v1/namespaces/default/pods", pod("waiting", container(gpus=SHARES)))
    message = f"0/{MANY} nodes are available: {MANY} Insufficient {GPU}."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    many.api.patch("/api/v1/namespaces/default/pods/waiting/status", {"status": {"conditions": [condition]}})
    report = timed(many, record_property, "why", "pod/waiting", "-n", "default")
    assert [one["cause"] for one in report["causes"]] == ["replicas-held"]


def timed(many: ControlPlaneOnly, record_property: Callable[[str, object], None], *question: str) -> Object:
    """The report about many nodes, which a program of its own gives, with its time as a figure.

    `why` exits with 1, because it finds a cause.
    """
    begun = time.monotonic()
    kubeconfig = str(many.control.kubeconfigs["admin"])
    program = [sys.executable, "-m", "webhook", *question, "-o", "json", "--kubeconfig", kubeconfig]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    record_property(f"{question[0]} of {MANY} nodes and {MANY} pods", f"{time.monotonic() - begun:.2f} s")
    assert ended.returncode < 2, ended.stderr
    report: Object = json.loads(ended.stdout)
    return report
