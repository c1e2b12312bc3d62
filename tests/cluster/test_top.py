"""`top` on a real cluster: held replicas are those that the scheduler counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cluster.harness.command import command
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import GPU, container, pod

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace


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
