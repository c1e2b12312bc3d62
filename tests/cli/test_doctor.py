"""`doctor` on a stand-in cluster: output, exit status, rights, and text of other people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cluster import FakeCluster, running
from tests.cli.run import Ended, run
from tests.live.doctor.healthy import CONFIGS, OURS, PLUGIN, STACK, TEAM, healthy, mps, node, pod, put
from webhook.cluster import objects as kinds


@pytest.fixture
def cluster() -> FakeCluster:
    return healthy()


@pytest.fixture
def prod(cluster: FakeCluster, here: Path) -> Iterator[tuple[str, ...]]:
    """The options that lead to the cluster."""
    with running(cluster, here) as file:
        yield "--kubeconfig", str(file), "--context", "prod"


def findings(ended: Ended) -> list[str]:
    return [one["finding"] for one in ended.json()["findings"]]


def edit(cluster: FakeCluster) -> None:
    """Edit the configuration, without a restart of the plugin."""
    cluster.objects[kinds.CONFIG_MAP.path(STACK, CONFIGS)]["data"]["mps-4"] = mps(8)


def test_healthy_cluster_has_no_finding(prod: tuple[str, ...]) -> None:
    ended = run("doctor", *prod)
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.out.splitlines()
    assert first == "nothing wrong found"
    assert second.startswith("checked, and found well: pods of the device plugin, nodes without a device plugin, ")
    report = run("doctor", *prod, "-o", "json").json()
    assert (report["kind"], report["findings"], report["leftOut"], report["notChecked"]) == ("DoctorReport", [], [], [])
    assert len(report["checked"]) > 20


def test_finding_has_cause_evidence_and_remedy(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    edit(cluster)
    ended = run("doctor", *prod)
    assert ended.code == 1
    assert ended.out.splitlines()[:6] == [
        "1 gpu-1 and 1 more  config mps-4, allocatable 4: the plugin was not restarted since the edit",
        "  error: allocatable-differs",
        f"  ConfigMap {STACK}/{CONFIGS}, key mps-4: 8 nvidia.com/gpu",
        "  allocatable: 4 nvidia.com/gpu",
        "  nodes: gpu-1, gpu-2",
        f"  do: kubectl -n {STACK} rollout restart daemonset/{PLUGIN} daemonset/mps-daemon daemonset/discovery",
    ]


def test_warning_alone_exits_with_0(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.objects[kinds.CONFIG_MAP.path(OURS, OURS)]["metadata"]["annotations"]["gpushare-webhook/mode"] = "audit"
    ended = run("doctor", *prod, "-o", "json")
    assert (ended.code, findings(ended)) == (0, ["mode-capped"])


def test_errors_come_before_warnings(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.objects[kinds.CONFIG_MAP.path(OURS, OURS)]["metadata"]["annotations"]["gpushare-webhook/mode"] = "audit"
    edit(cluster)
    cluster.lists[kinds.ENDPOINT_SLICE.path(OURS)][0]["endpoints"] = []
    ended = run("doctor", *prod, "-o", "yaml")
    found = [line.split()[-1] for line in ended.out.splitlines() if "finding:" in line]
    assert (ended.code, found) == (1, ["no-endpoints", "allocatable-differs", "mode-capped"])


def rejected(name: str, namespace: str, message: str = "maximum request size") -> dict[str, object]:
    """A pod that the device plugin rejected."""
    found = pod(name, namespace, ("ReplicaSet", "web"))
    return {**found, "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": message}}


def test_namespace_limits_pods(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    put(cluster, kinds.POD, rejected("web-1", TEAM))
    assert findings(run("doctor", *prod, "-o", "json")) == ["pods-failed"]
    assert findings(run("doctor", *prod, "-o", "json", "-n", TEAM)) == ["pods-failed"]
    assert findings(run("doctor", *prod, "-o", "json", "-n", "default")) == []
    edit(cluster)
    assert findings(run("doctor", *prod, "-o", "json", "-n", "default")) == ["allocatable-differs"]


PATHS = (
    kinds.NODE.path(),
    kinds.DAEMON_SET.path(),
    kinds.POD.path(),
    kinds.CONFIG_MAP.path(STACK, CONFIGS),
    kinds.CONFIG_MAP.path(OURS, OURS),
    kinds.NAMESPACE.path(),
    kinds.RUNTIME_CLASS.path(),
    kinds.EVENT.path(),
    kinds.QUOTA.path(),
    kinds.LIMIT_RANGE.path(),
    kinds.DEPLOYMENT.path(),
    kinds.MUTATING.path(),
    kinds.VALIDATING.path(),
    kinds.ENDPOINT_SLICE.path(OURS),
    kinds.POD.path(OURS),
    f"{kinds.POD.path(OURS, 'webhook-1')}:8080/proxy/metrics",
)


@pytest.mark.parametrize("path", PATHS)
def test_missing_right_is_named_and_makes_no_finding(cluster: FakeCluster, prod: tuple[str, ...], path: str) -> None:
    cluster.refused[path] = 403
    ended = run("doctor", *prod, "-o", "json")
    report = ended.json()
    assert (ended.code, report["findings"]) == (0, [])
    assert any("add this rule to a" in one["why"] for one in report["leftOut"])
    text = run("doctor", *prod)
    assert text.err.startswith("not read: ")


def test_cluster_without_rights_is_not_checked(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused |= dict.fromkeys((*cluster.lists, *cluster.objects, *PATHS), 403)
    ended = run("doctor", *prod, "-o", "json")
    report = ended.json()
    assert (ended.code, report["findings"], report["checked"]) == (0, [], [])
    assert len(report["notChecked"]) > 20


def test_installation_of_another_name_is_found_by_its_label(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    path = kinds.CONFIG_MAP.path(OURS, OURS)
    cluster.objects[kinds.DEPLOYMENT.path(OURS, OURS)]["metadata"]["name"] = "own"
    cluster.objects[kinds.CONFIG_MAP.path(OURS, "own")] = cluster.objects.pop(path)
    cluster.lists[kinds.ENDPOINT_SLICE.path(OURS)][0]["metadata"]["labels"]["kubernetes.io/service-name"] = "own"
    for kind in (kinds.MUTATING, kinds.VALIDATING):
        for entry in cluster.objects[kind.path(None, OURS)]["webhooks"]:
            entry["clientConfig"]["service"]["name"] = "own"
    report = run("doctor", *prod, "-o", "json").json()
    assert (report["findings"], report["leftOut"], report["notChecked"]) == ([], [], [])


def test_named_installation_alone_is_examined(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    assert findings(run("doctor", *prod, "-o", "json", "--installed-as", f"{OURS}/{OURS}")) == []
    ended = run("doctor", *prod, "--installed-as", "gpu/webhook")
    assert (ended.code, ended.out) == (2, "")
    assert "ConfigMap gpu/webhook does not exist" in ended.err


def test_texts_of_others_are_printable_and_short(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    hostile = "\x1b[31m::error::x\n" + "y" * 5000
    put(cluster, kinds.POD, rejected("web-1", TEAM, hostile))
    put(cluster, kinds.NODE, node("gpu-3\u202e", 3))
    for output in ("text", "json", "yaml"):
        ended = run("doctor", *prod, "-o", output)
        assert "\x1b" not in ended.out
        assert "\u202e" not in ended.out
        assert not any(line.lstrip().startswith("::") for line in ended.out.splitlines())
        assert len(ended.out) < 10_000
