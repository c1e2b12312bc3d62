"""Pods in a few fields, and the replicas that they hold."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import both_ways, put
from tests.diagnose.cluster_objects import GPU, container, pod
from tests.diagnose.objects import metadata
from webhook.cluster.api_server import OBJECTS
from webhook.cluster.objects import JOB, POD, REPLICA_SET, Kind, LeftOut, Object, Objects, Shape
from webhook.cluster.reading import Owner, controller
from webhook.diagnose import pods as module
from webhook.diagnose.pods import Owners, held_by_node, live_pod, reachable, requests_of
from webhook.diagnose.saved import SavedObjects
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings

LOOKUP = GpuResources(Settings().resources).find


@pytest.mark.parametrize(
    ("containers", "init", "amount"),
    [
        ([container()], [], 1),
        ([container("a", 0)], [], 0),
        ([container("a", "500m")], [], 1),
    ],
)
def test_requests_equal_those_of_scheduler(containers: list[Any], init: list[Any], amount: int) -> None:
    found = pod("p", *containers, spec={"initContainers": init})
    assert requests_of(found, LOOKUP) == ({GPU: amount} if amount else {})


def test_malformed_pod_asks_for_nothing() -> None:
    assert requests_of({"spec": {"containers": {}}}, LOOKUP) == {}


@pytest.mark.parametrize(
    ("status", "node", "holds"),
    [
        ({"phase": "Running"}, "n", True),
        ({"phase": "Pending"}, "n", True),
        ({"phase": "Pending"}, "", False),
        ({"phase": "Succeeded"}, "n", False),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError"}, "n", False),
    ],
)
def test_only_bound_and_unfinished_pods_hold_replicas(status: dict[str, str], node: str, *, holds: bool) -> None:
    found = live_pod(pod("p", node=node, status=status), LOOKUP)
    assert found.holds is holds
    assert found.was_rejected is ("reason" in status)


class BreakingOff(SavedObjects):
    """A cluster whose list of all pods breaks off after the first page."""

    async def pages(
        self, kind: Kind, namespace: str | None = None, shape: Shape = OBJECTS, /, **query: str
    ) -> AsyncGenerator[list[Object], None]:
        async for page in super().pages(kind, namespace, shape, **query):
            yield page[:2] if namespace is None else page
        if namespace is None:
            self.left_out.append(LeftOut("pods in all namespaces", "500"))

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:  # noqa: ARG002
        return bool(self.left_out)


async def test_pod_comes_once_where_the_list_of_all_breaks_off() -> None:
    cluster = BreakingOff([pod("a"), pod("a", namespace="team-b"), pod("b"), pod("c", namespace="team-b")])
    found = [str(live_pod(one, LOOKUP)) async for one in reachable(cluster, "team-a")]
    assert found == ["team-a/a", "team-b/a", "team-a/b"]
    assert cluster.lacks(POD)


def test_requests_of_a_pod_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr(module, "GpuRequests", lambda *given: read.append(given))
    states: list[Object] = [{"name": name, "state": {"running": {}}} for name in ("main", "proxy")]
    live_pod(pod("p", node="n", spec={"restartPolicy": "Never"}, status={"containerStatuses": states}), LOOKUP)
    assert len(read) == 1


def test_holders_are_sorted_by_amount_and_name() -> None:
    pods = [
        live_pod(pod(name, container("c", amount), node="n"), LOOKUP)
        for name, amount in zip("cab", (1, 1, 2), strict=True)
    ]
    (found,) = held_by_node(pods).values()
    assert [(one.pod.name, one.amount) for one in found] == [("b", 2), ("a", 1), ("c", 1)]


def test_owner_is_topmost_known_controller() -> None:
    owners = Owners({("team-a", Owner("ReplicaSet", "web-1")): Owner("Deployment", "web")})
    of_set = live_pod(pod("p", owner=("ReplicaSet", "web-1")), LOOKUP)
    elsewhere = live_pod(pod("p", owner=("ReplicaSet", "web-1"), namespace="team-b"), LOOKUP)
    alone = live_pod(pod("p"), LOOKUP)
    assert [str(owners.top(one)) for one in (of_set, elsewhere, alone)] == [
        "Deployment/web",
        "ReplicaSet/web-1",
        "Pod/p",
    ]


async def test_owners_are_read_of_the_kinds_that_others_make() -> None:
    def made(name: str, owner: tuple[str, str, str]) -> Any:
        return {"metadata": metadata(name, owner=owner)}

    cluster = FakeCluster()
    for found in (
        made("web-1", ("apps/v1", "Deployment", "web")),
        made("llm-1", ("argoproj.io/v1alpha1", "Rollout", "llm")),
        {"metadata": metadata("alone")},
    ):
        put(cluster, REPLICA_SET, found)
    put(cluster, JOB, made("nightly-1", ("batch/v1", "CronJob", "nightly")))
    pods = [live_pod(pod("p", owner=one), LOOKUP) for one in KINDS]

    async def tops(objects: Objects) -> list[str]:
        owners = await Owners.read(objects, None)
        return [str(owners.top(one)) for one in pods]

    wanted = ["Deployment/web", "Rollout/llm", "ReplicaSet/alone", "CronJob/nightly", "RayCluster/ray"]
    assert await both_ways(cluster, tops) == wanted


KINDS = [
    *(("ReplicaSet", name) for name in ("web-1", "llm-1", "alone")),
    ("Job", "nightly-1"),
    ("RayCluster", "ray"),
]


@pytest.mark.parametrize("references", ["x", 5, [None], ["x"], [{"controller": True, "kind": [], "name": {}}]])
def test_malformed_owner_references_name_no_owner(references: object) -> None:
    assert controller({"ownerReferences": references}) in (None, ("", ""))
