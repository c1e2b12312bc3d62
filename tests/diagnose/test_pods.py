"""Pods in a few fields, and the replicas that they hold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.cluster_objects import GPU, container, pod
from tests.diagnose.objects import StoredObjects, metadata
from webhook.cluster.reading import Owner, controller
from webhook.diagnose.owners import Owners
from webhook.diagnose.pods import held_by_node, live_pod, requests_of
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

    objects = StoredObjects(
        {
            "/apis/apps/v1/replicasets": [
                made("web-1", ("apps/v1", "Deployment", "web")),
                made("llm-1", ("argoproj.io/v1alpha1", "Rollout", "llm")),
                {"metadata": metadata("alone")},
            ],
            "/apis/batch/v1/jobs": [made("nightly-1", ("batch/v1", "CronJob", "nightly"))],
        }
    )
    owners = await Owners.read(objects, None)
    kinds = [("ReplicaSet", "web-1"), ("ReplicaSet", "llm-1"), ("ReplicaSet", "alone"), ("Job", "nightly-1")]
    pods = [live_pod(pod("p", owner=one), LOOKUP) for one in [*kinds, ("RayCluster", "ray")]]
    wanted = ["Deployment/web", "Rollout/llm", "ReplicaSet/alone", "CronJob/nightly", "RayCluster/ray"]
    assert [str(owners.top(one)) for one in pods] == wanted


@pytest.mark.parametrize("references", ["x", 5, [None], ["x"], [{"controller": True, "kind": [], "name": {}}]])
def test_malformed_owner_references_name_no_owner(references: object) -> None:
    assert controller({"ownerReferences": references}) in (None, ("", ""))
