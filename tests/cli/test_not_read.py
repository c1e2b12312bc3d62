"""What the live commands cannot read is counted and named, and the exit code says so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.cluster import FakeCluster
from tests.cli.run import Ended, run
from tests.diagnose.doctor.healthy import TEAM, healthy
from tests.diagnose.objects import pod
from webhook.cluster.client import Client

PODS = "/api/v1/pods"
LIMIT = 64 * 1024
"""Bytes of a response, in place of 16 MiB."""

EVERY = {
    "audit": ("audit", "-A"),
    "plan": ("plan", "-A", "--enforce"),
    "top": ("top", "-A"),
    "top by namespace": ("top", "-A", "--by", "namespace"),
    "doctor": ("doctor",),
}
WELL = ("nothing wrong found\n", "nothing changes\n", "offered or held\n")
commands = pytest.mark.parametrize("words", EVERY.values(), ids=EVERY)


@pytest.fixture
def cluster() -> FakeCluster:
    found = healthy()
    ask = [pod(f"p{number:04}", 1, namespace=TEAM, node="gpu-1") for number in range(1200)]
    found.lists[PODS] = [*found.lists[PODS], *ask]
    return found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses of at most 64 KiB."""
    monkeypatch.setattr(Client, "size", LIMIT)


def said(words: tuple[str, ...], prod: tuple[str, ...]) -> tuple[Ended, dict[str, Any]]:
    """The text of a command and its report, which agree."""
    text, report = run(*words, *prod), run(*words, *prod, "-o", "json")
    assert text.code == report.code
    assert not any(one in text.out for one in WELL) or text.code == 0
    return text, report.json()


@commands
def test_cluster_that_is_read_in_full_is_well(prod: tuple[str, ...], words: tuple[str, ...]) -> None:
    text, report = said(words, prod)
    assert (text.code, report["unread"], text.err) == (0, 0, "")


@commands
def test_list_that_breaks_off_is_no_result(cluster: FakeCluster, prod: tuple[str, ...], words: tuple[str, ...]) -> None:
    cluster.expiring[PODS] = 1000
    text, report = said(words, prod)
    assert text.code == 2
    assert report["unread"] >= 1
    why = {one["what"]: one["why"] for one in report["leftOut"]}
    assert why["pods in all namespaces"] == "list of /api/v1/pods: it expires before its last page is read"
    assert "not read: pods in all namespaces: list of /api/v1/pods: it expires" in text.err


@commands
def test_list_that_expires_once_goes_on(cluster: FakeCluster, prod: tuple[str, ...], words: tuple[str, ...]) -> None:
    cluster.expiring[PODS] = 1
    whole = run(*words, *prod, "-o", "json")
    assert (whole.code, whole.json()["leftOut"]) == (0, [])
    cluster.expiring[PODS] = 0
    assert whole.json() == run(*words, *prod, "-o", "json").json()


@commands
@pytest.mark.usefixtures("small")
def test_pod_too_large_to_be_read_costs_itself_alone(
    cluster: FakeCluster, prod: tuple[str, ...], words: tuple[str, ...]
) -> None:
    big = pod("big", 2, namespace=TEAM, node="gpu-1")
    big["spec"]["containers"][0]["env"] = [{"name": "A", "value": "x" * LIMIT}]
    cluster.lists[PODS].insert(3, big)
    text, report = said(words, prod)
    assert (text.code, report["unread"]) == (2, 1)
    assert [one["what"] for one in report["leftOut"]] == [f"pod {TEAM}/big"]
    assert f"not read: pod {TEAM}/big: GET /api/v1/pods" in text.err
    assert f"is larger than {LIMIT} bytes" in text.err
    cluster.lists[PODS].remove(big)
    without = run(*words, *prod, "-o", "json").json()
    own = {key: value for key, value in report.items() if key not in ("unread", "leftOut", "countsAllPods")}
    assert own == {key: without[key] for key in own}


@pytest.mark.parametrize("words", [words for name, words in EVERY.items() if name != "top by namespace"])
@pytest.mark.usefixtures("small")
def test_node_too_large_to_be_read_is_named(
    cluster: FakeCluster, prod: tuple[str, ...], words: tuple[str, ...]
) -> None:
    node = {"metadata": {"name": "big", "labels": {}}, "status": {"images": [{"names": ["<" * LIMIT]}]}}
    cluster.lists["/api/v1/nodes"].append(node)
    text, report = said(words, prod)
    assert text.code == 2
    assert [one["what"] for one in report["leftOut"]] == ["node big"]


@commands
def test_caller_without_rights_learns_that_nothing_is_known(
    cluster: FakeCluster, prod: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """As `system:anonymous`, for whom only the version is readable."""

    class Everything(dict[str, int]):
        def __contains__(self, path: object) -> bool:
            return path != "/version"

        def __getitem__(self, path: str) -> int:
            return 403

    cluster.refused = Everything()
    ended = run(*words, *prod)
    assert ended.code == 2
    assert not any(one in ended.out for one in WELL)
    assert "403: not allowed" in ended.err


def test_part_that_the_user_leaves_out_is_named_and_does_not_matter(prod: tuple[str, ...]) -> None:
    text, report = said((*EVERY["audit"], "--without", "nodes"), prod)
    assert (text.code, report["unread"]) == (0, 0)
    assert report["leftOut"] == [{"what": "nodes", "why": "--without nodes"}]


def test_unreadable_part_precedes_denial(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.lists[PODS].insert(0, pod("two", 2, namespace="other"))
    assert run(*EVERY["audit"], *prod).code == 1
    cluster.expiring[PODS] = 1000
    ended = run(*EVERY["audit"], *prod)
    assert (ended.code, "1 denied" in ended.out) == (2, True)


def test_object_that_cannot_be_checked_is_none_that_is_well(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    odd = pod("odd", 1, namespace=TEAM)
    odd["spec"]["containers"] = {}
    cluster.lists[PODS].append(odd)
    ended = run(*EVERY["audit"], *prod)
    assert (ended.code, "1 error" in ended.out) == (2, True)


def test_why_without_cause_needs_what_it_could_not_read(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.objects[f"/api/v1/namespaces/{TEAM}/pods/well"] = pod("well", 0, namespace=TEAM, node="gpu-1")
    words = ("why", "well", "-n", TEAM)
    assert run(*words, *prod).code == 0
    cluster.refused["/api/v1/nodes/gpu-1"] = 403
    ended = run(*words, *prod)
    assert ended.code == 2
    assert ended.out.endswith("incomplete: 1 part of the cluster could not be read, which may change this answer\n")
