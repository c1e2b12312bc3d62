"""Large clusters: the work grows linearly, and the answer stays short."""

from __future__ import annotations

from unittest import mock

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from tests.diagnose.doctor.asked import examined
from tests.diagnose.doctor.healthy import CONFIGS, IMAGE, PLUGIN, STACK, TEAM, healthy, mps, node, pod
from webhook.cluster import objects as kinds
from webhook.cluster.stack import Program


def large(nodes: int) -> FakeCluster:
    """A cluster of many nodes whose configuration was edited, with pods that the kubelet rejected."""
    cluster = healthy()
    cluster.objects[kinds.CONFIG_MAP.path(STACK, CONFIGS)]["data"]["mps-4"] = mps(8)
    containers = [{"name": "nvidia-device-plugin-ctr", "image": IMAGE}]
    for number in range(nodes):
        name = f"node-{number}"
        put(cluster, kinds.NODE, node(name))
        put(cluster, kinds.POD, pod(f"{PLUGIN}-{name}", STACK, ("DaemonSet", PLUGIN), name, containers=containers))
        rejected = pod(f"web-{number}", TEAM, ("Job", f"web-{number}"))
        status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "x" * 10_000}
        put(cluster, kinds.POD, {**rejected, "status": status})
    return cluster


def test_answer_stays_short() -> None:
    answer = examined(large(500))
    assert [one.finding for one in answer.findings] == ["allocatable-differs", *["pods-failed"] * 20]
    assert answer.findings[0].subject.endswith(" and 501 more")
    assert sum(len(line) for line in answer.lines(None)) < 30_000


@pytest.mark.parametrize("method", ["selects", "repelled"])
def test_work_grows_linearly(method: str) -> None:
    """Each node is compared with each DaemonSet a few times, however many nodes there are."""

    def calls(nodes: int) -> int:
        with mock.patch.object(Program, method, autospec=True, side_effect=getattr(Program, method)) as counted:
            examined(large(nodes))
        return int(counted.call_count)

    small, twice = calls(50), calls(100)
    assert 0 < twice < 2 * small


def test_every_line_fits_a_terminal() -> None:
    answer = examined(large(20))
    for width in (80, 200):
        assert max(map(len, answer.lines(width))) <= width
