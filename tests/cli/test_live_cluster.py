"""`check` and `mutate` with a live cluster: the facts and the settings are those of the cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.aio.config import incluster_config

from tests.cli.cluster import INSTALLED_AS, NODES, RUNTIME_CLASSES, SETTINGS, TOKEN, FakeCluster, named
from tests.cli.run import Ended, run
from tests.project.repository import ROOT

POD = """\
{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: {namespace}}}, spec: {{nodeSelector: {{{selector}}},
 containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: {amount}}}}}}}]}}}}
"""


@pytest.fixture
def pods(here: Path) -> str:
    """Pods for each node and namespace of the cluster."""
    selectors = ("", "pool: whole", 'nvidia.com/mps.capable: "true"', "pool: none")
    documents = [
        POD.format(namespace=namespace, selector=selector, amount=amount)
        for namespace in ("team-a", "team-b", "default")
        for selector in selectors
        for amount in (1, 2)
    ]
    (here / "pods.yaml").write_text("---\n".join(documents))
    return "pods.yaml"


@pytest.mark.slow
def test_kubeconfig_of_environment_names_cluster(cluster: FakeCluster, prod: tuple[str, ...], pods: str) -> None:
    _, file, *context = prod
    command = [sys.executable, "-m", "webhook", "check", pods, "-o", "json", *context]
    environment = {**os.environ, "KUBECONFIG": file, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert (ended.stdout, ended.stderr) == (run("check", pods, "-o", "json", *prod).out, "")
    environment["KUBECONFIG"] = "missing.yaml"
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert ended.returncode == 2
    assert "cannot connect: missing.yaml: " in ended.stderr


def decisions(ended: Ended) -> list[str]:
    return [result["decision"] for result in ended.json()["results"]]


def test_check_reads_facts_of_context(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    two = POD.format(namespace="default", selector="pool: whole", amount=2).encode()
    assert decisions(run("check", "-f", "-", "-o", "json", stdin=two)) == ["denied"]
    found = run("check", "-f", "-", "-o", "json", *prod, "--without", "runtimeClasses", stdin=two)
    assert (decisions(found), found.err) == (["allowed"], "")
    assert NODES in cluster.asked
    assert RUNTIME_CLASSES not in cluster.asked


@pytest.mark.parametrize("command", [("check", "-o", "json"), ("mutate", "-o", "patch")], ids=["check", "mutate"])
@pytest.mark.parametrize("installed", [True, False], ids=["installed settings", "defaults"])
def test_live_result_equals_result_of_snapshot(
    prod: tuple[str, ...], pods: str, command: tuple[str, ...], installed: bool
) -> None:
    settings = ("--installed-as", INSTALLED_AS) if installed else ()
    written = ("--settings", "settings.yaml") if installed else ()
    assert run("snapshot", *prod, *settings, *written, "--facts", "facts.yaml").code == 0
    offline = ("--facts", "facts.yaml", *(("--config", "settings.yaml") if installed else ()))
    live = run(*command, "-f", pods, *prod, *settings)
    assert live == run(*command, "-f", pods, *offline)
    assert live != run(*command, "-f", pods)


def test_mutate_knows_runtime_classes_of_cluster(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    one = POD.format(namespace="default", selector="", amount=1).encode()

    def runtime_class() -> Any:
        return run("mutate", "-f", "-", "-o", "json", *prod, stdin=one).json()["spec"].get("runtimeClassName")

    assert runtime_class() == "nvidia"
    cluster.lists[RUNTIME_CLASSES].append(named("nvidia-legacy", handler="nvidia-legacy"))
    assert runtime_class() is None


def test_check_applies_installed_settings(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    two = POD.format(namespace="team-a", selector='nvidia.com/mps.capable: "true"', amount=2).encode()
    assert decisions(run("check", "-f", "-", "-o", "json", *prod, stdin=two)) == ["denied"]
    found = run("check", "-f", "-", "-o", "json", *prod, "--installed-as", INSTALLED_AS, stdin=two)
    assert decisions(found) == ["allowed"]  # the rule for the label of team-a audits only
    cluster.objects[SETTINGS]["data"]["settings.yaml"] = "mode: warn\n"
    found = run("check", "-f", "-", "-o", "json", *prod, "--installed-as", INSTALLED_AS, stdin=two)
    assert decisions(found) == ["warned"]


def test_kubeconfig_alone_uses_current_context(cluster: FakeCluster, prod: tuple[str, ...], pods: str) -> None:
    assert run("check", "-f", pods, "-o", "json", *prod[:2]) == run("check", "-f", pods, "-o", "json", *prod)
    assert cluster.asked


def test_installed_as_alone_reads_cluster_of_this_pod(
    cluster: FakeCluster, prod: tuple[str, ...], pods: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (named_cluster,) = yaml.safe_load(Path(prod[1]).read_text())["clusters"]
    (here / "token").write_text(TOKEN)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(here / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", named_cluster["cluster"]["certificate-authority"])
    host, port = named_cluster["cluster"]["server"].removeprefix("https://").split(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    options = ("check", "-f", pods, "-o", "json", "--installed-as", INSTALLED_AS, "--without", "nodes")
    ended = run(*options)
    assert SETTINGS in cluster.asked
    assert NODES not in cluster.asked
    assert ended == run(*options, *prod)


@pytest.mark.parametrize("command", ["check", "mutate"])
def test_forbidden_part_is_an_error(cluster: FakeCluster, prod: tuple[str, ...], pods: str, command: str) -> None:
    cluster.refused[NODES] = 403
    result = run(command, "-f", pods, *prod)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("context prod: nodes: ")
    assert run(command, "-f", pods, *prod, "--without", "nodes").code < 2


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--facts", "f.yaml", "--context", "prod"),
            "--facts and --context: facts come from a file or from a cluster; leave out one",
        ),
        (("--facts", "f.yaml", "--kubeconfig", "k"), "--facts and --context: "),
        (("--config", "s.yaml", "--installed-as", "a/b"), "--config and --installed-as: both name the settings; "),
        (("--context", ""), "Invalid value for '--context': the name is empty; leave out the option for the current"),
        (("--kubeconfig", ""), "Invalid value for '--kubeconfig': the name is empty; "),
        (("--installed-as", ""), "Invalid value for '--installed-as': must be namespace/name of an object"),
        (("--without", "nodes"), "--without needs --context, --kubeconfig or --installed-as, which name a cluster"),
    ],
)
def test_options_that_contradict(here: Path, command: str, options: tuple[str, ...], said: str) -> None:
    result = run(command, "-f", "-", *options, stdin=json.dumps({}).encode())
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].startswith(f"Error: {said}")


KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUES = f"{KUEUE}/localqueues"
SERVES_QUEUES = {"kind": "APIResourceList", "resources": [{"name": "localqueues", "kind": "LocalQueue"}]}
JOB = """\
{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: team-a}, spec: {template: {spec: {containers: [
 {name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}}}
"""


def queue(name: str, namespace: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}}


@pytest.mark.parametrize(
    ("queues", "decision"),
    [
        ([queue("batch", "team-a"), queue("default", "team-a"), queue("default", "team-b")], "warned"),
        ([queue("batch", "team-a"), queue("default", "team-b")], "denied"),
    ],
    ids=["in the namespace", "in another namespace"],
)
def test_default_queue_of_cluster_queues_jobs(
    cluster: FakeCluster, prod: tuple[str, ...], queues: list[dict[str, Any]], decision: str
) -> None:
    cluster.lists |= {NODES: cluster.lists[NODES][1:], QUEUES: queues}
    cluster.objects[KUEUE] = SERVES_QUEUES
    assert run("snapshot", *prod, "--without", "devicePlugin", "--facts", "facts.yaml").code == 0
    for source in (prod, ("--facts", "facts.yaml")):
        assert decisions(run("check", "-f", "-", "-o", "json", *source, stdin=JOB.encode())) == [decision]
    without = run("check", "-f", "-", "-o", "json", *prod, "--without", "defaultQueues", stdin=JOB.encode())
    assert decisions(without) == ["denied"]


def test_unknown_api_group_of_queues_is_an_error(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused[KUEUE] = 503
    ended = run("check", "-f", "-", *prod, stdin=JOB.encode())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("context prod: defaultQueues: GET /apis/kueue.x-k8s.io/v1beta2: 503")
    cluster.refused.clear()
    cluster.texts[KUEUE] = "<html>"
    ended = run("check", "-f", "-", *prod, stdin=JOB.encode())
    assert (ended.code, "not an object of the API server" in ended.err) == (2, True)


def test_forbidden_queues_are_an_error_where_kueue_is_installed(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused[QUEUES] = 403
    assert run("check", "-f", "-", *prod, stdin=JOB.encode()).err == ""
    cluster.objects[KUEUE] = SERVES_QUEUES
    ended = run("check", "-f", "-", *prod, stdin=JOB.encode())
    assert ended.code == 2
    assert ended.err.startswith("context prod: defaultQueues: 403: not allowed to list localqueues; add this rule")
    assert ended.err.endswith("; or leave it out with --without defaultQueues\n")
    ended = run("snapshot", *prod, "--without", "defaultQueues", "--without", "devicePlugin")
    assert (ended.code, "defaultQueues" in yaml.safe_load(ended.out)) == (0, False)
    assert "defaultQueues: not read, so that check treats it as unknown (--without defaultQueues)" in ended.err
