"""`doctor` on a stand-in cluster: output, exit status, rights, and text of other people."""

from __future__ import annotations

import pytest

from tests.cli.cluster import FakeCluster
from tests.cli.run import Ended, run
from tests.diagnose.both import put
from tests.diagnose.doctor.healthy import (
    CONFIGS,
    OURS,
    PLUGIN,
    STACK,
    TEAM,
    daemon_set,
    healthy,
    mps,
    node,
    pod,
    put_settings,
    rendered,
)
from webhook.cluster import objects as kinds


@pytest.fixture
def cluster() -> FakeCluster:
    return healthy()


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
    assert second.startswith("checked, and found well: endpoints of the webhook, certificates, ")
    report = run("doctor", *prod, "-o", "json").json()
    assert (report["kind"], report["findings"], report["leftOut"], report["notChecked"]) == ("DoctorReport", [], [], [])
    assert len(report["checked"]) > 20


def test_finding_has_cause_evidence_and_remedy(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    edit(cluster)
    ended = run("doctor", *prod)
    assert ended.code == 1
    assert ended.out.splitlines()[:7] == [
        "1 finding",
        "1 gpu-1 and 1 more  config mps-4, allocatable 4: the plugin was not restarted since the edit",
        "  error: allocatable-differs",
        f"  - ConfigMap {STACK}/{CONFIGS}, key mps-4: 8 nvidia.com/gpu",
        "  - allocatable: 4 nvidia.com/gpu",
        "  - nodes: gpu-1, gpu-2",
        f"  do: kubectl -n {STACK} rollout restart daemonset/{PLUGIN} daemonset/mps-daemon daemonset/discovery, "
        "which ends each program that uses MPS on its nodes",
    ]


def test_finding_in_namespace_of_tenants_says_so(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    put(cluster, kinds.DAEMON_SET, daemon_set("mine", "mps-control-daemon-ctr", 1, TEAM))
    ended = run("doctor", *prod)
    assert ended.code == 1
    assert ended.out.splitlines()[2] == "  warning: stack-unconfirmed, in a namespace that tenants may use"
    named = run("doctor", *prod, "--device-plugin-daemonset", f"{TEAM}/mine", "-o", "json")
    assert (named.code, findings(named)) == (0, [])


def test_named_daemon_set_does_not_exist(prod: tuple[str, ...]) -> None:
    ended = run("doctor", *prod, "--device-plugin-daemonset", "gpu/plugin")
    assert (ended.code, ended.out) == (2, "")
    assert "--device-plugin-daemonset: no DaemonSet gpu/plugin has a container of the GPU stack" in ended.err


def cap(cluster: FakeCluster) -> None:
    """Let an annotation cap the mode."""
    account = cluster.objects[kinds.SERVICE_ACCOUNT.path(OURS, f"{OURS}-mode")]
    account["metadata"]["annotations"]["gpushare-webhook/mode"] = "audit"


def test_warning_alone_exits_with_1(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cap(cluster)
    ended = run("doctor", *prod, "-o", "json")
    assert (ended.code, findings(ended)) == (1, ["mode-capped"])


def test_errors_come_before_warnings(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cap(cluster)
    edit(cluster)
    cluster.lists[kinds.ENDPOINT_SLICE.path(OURS)][0]["endpoints"] = []
    ended = run("doctor", *prod, "-o", "json")
    assert (ended.code, findings(ended)) == (1, ["no-endpoints", "allocatable-differs", "mode-capped"])


def rejected(name: str, namespace: str, message: str = "maximum request size") -> dict[str, object]:
    """A pod that the device plugin rejected."""
    found = pod(name, namespace, ("ReplicaSet", "web"))
    return {**found, "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": message}}


def test_namespace_limits_pods(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    put(cluster, kinds.POD, rejected("web-1", TEAM))
    assert findings(run("doctor", *prod, "-o", "json")) == ["pods-failed"]
    assert findings(run("doctor", *prod, "-o", "json", "-n", TEAM)) == ["pods-failed"]
    put(cluster, kinds.POD, rejected("web-1", STACK))
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
    is_needed = not path.endswith("/metrics")  # the documented role leaves it out
    assert (ended.code, report["findings"]) == (2 if is_needed else 0, [])
    assert (report["unread"] > 0) == is_needed
    assert any("add this rule to a" in one["why"] for one in report["leftOut"])
    text = run("doctor", *prod)
    assert text.out.startswith("0 findings, " if is_needed else "nothing wrong found\n")
    assert text.err.startswith("not read: ")


@pytest.mark.parametrize("kind", [kinds.POLICY, kinds.POLICY_BINDING])
@pytest.mark.parametrize(("settings", "code"), [("guard: {enabled: true}", 2), ("mode: audit", 0), ("modes: audit", 2)])
def test_guard_that_cannot_be_read_matters_where_there_may_be_one(
    cluster: FakeCluster, prod: tuple[str, ...], kind: kinds.Kind, settings: str, code: int
) -> None:
    put_settings(cluster, settings)
    cluster.refused[kind.path(None, f"{OURS}-guard")] = 403
    ended = run("doctor", *prod, "-o", "json")
    report = ended.json()
    assert ended.code == code
    assert "guard in the API server" in [one["what"] for one in report["notChecked"]]
    unread = [one["what"] for one in report["leftOut"] if one["what"].startswith(kind.name)]
    assert unread == ([f"{kind.name} {OURS}-guard"] if code else [])


@pytest.mark.parametrize("path", [kinds.POLICY.path(), "/api/v1/namespaces/gpushare-webhook/services"])
@pytest.mark.parametrize("is_of_helm", [False, True])  # Helm deletes what its release no longer has
def test_unread_objects_of_the_chart_matter_unless_helm_manages_them(
    cluster: FakeCluster, prod: tuple[str, ...], path: str, is_of_helm: bool
) -> None:
    if is_of_helm:
        settings = cluster.objects[kinds.CONFIG_MAP.path(OURS, OURS)]
        settings["metadata"]["annotations"]["meta.helm.sh/release-name"] = OURS
    cluster.refused[path] = 403
    ended = run("doctor", *prod, "-o", "json")
    report = ended.json()
    assert (ended.code, report["findings"]) == (0 if is_of_helm else 2, [])
    ((what, why),) = [tuple(one.values()) for one in report["notChecked"]]
    assert what.startswith("objects of former renders")
    assert why == f"{path.rpartition('/')[2]} cannot be read"


@pytest.mark.parametrize("options", [(), ("--installed-as", f"{OURS}/{OURS}")], ids=["usual", "named"])
def test_refused_settings_are_a_finding(cluster: FakeCluster, prod: tuple[str, ...], options: tuple[str, ...]) -> None:
    put_settings(cluster, "modes: audit")
    ended = run("doctor", *prod, *options, "-o", "json")
    report = ended.json()
    assert (ended.code, findings(ended), report["unread"]) == (1, ["settings-invalid"], 0)
    assert [one["what"] for one in report["leftOut"]] == ["settings"]
    # For another question, the defaults take the place of the settings.
    ended = run("top", *prod, *options, "-o", "json")
    assert (ended.code, ended.json()["unread"]) == (2, 1)


def test_configurations_in_binary_data_are_not_read(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    config_map = cluster.objects[kinds.CONFIG_MAP.path(STACK, CONFIGS)]
    config_map |= {"data": {}, "binaryData": {"mps-4": "dmVyc2lvbjogdjE="}}
    ended = run("doctor", *prod)
    assert (ended.code, ended.out.splitlines()[0]) == (
        2,
        "0 findings, 5 checks left out, 1 part of the cluster not read",
    )
    assert f"not read: configmap {STACK}/{CONFIGS}: binaryData is not read" in ended.err


def test_cluster_without_rights_is_not_checked(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused |= dict.fromkeys((*cluster.lists, *cluster.objects, *PATHS), 403)
    ended = run("doctor", *prod, "-o", "json")
    report = ended.json()
    assert (ended.code, report["findings"], report["checked"]) == (2, [], [])
    assert report["summary"] == {"findings": 0, "errors": 0, "notChecked": len(report["notChecked"])}
    assert len(report["notChecked"]) > 20
    assert "nothing wrong found" not in run("doctor", *prod).out


def test_installation_of_another_name_is_found_by_its_label(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    path = kinds.CONFIG_MAP.path(OURS, OURS)
    cluster.objects[kinds.DEPLOYMENT.path(OURS, OURS)]["metadata"]["name"] = "own"
    settings = cluster.objects[kinds.CONFIG_MAP.path(OURS, "own")] = cluster.objects.pop(path)
    settings["metadata"] = rendered("own", OURS, f"{OURS}/own@1")["metadata"]
    for kind, where, end in (
        (kinds.SERVICE_ACCOUNT, OURS, "mode"),
        (kinds.POLICY, None, "guard"),
        (kinds.POLICY_BINDING, None, "guard"),
    ):
        cluster.objects[kind.path(where, f"own-{end}")] = cluster.objects.pop(kind.path(where, f"{OURS}-{end}"))
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
    cluster.lists[kinds.NODE.path()].append(node("gpu-3\u202e", 3))
    for output in ("text", "json"):
        ended = run("doctor", *prod, "-o", output)
        assert "\x1b" not in ended.out
        assert "\u202e" not in ended.out
        assert not any(line.lstrip().startswith("::") for line in ended.out.splitlines())
        assert len(ended.out) < 10_000
