"""Switches of the guard beside living replicas: none admits a pod over the limit, and none refuses another pod."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.hooks import DRY_POD, is_mutated, rejection
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.release import CORE, NAME, NAMESPACE, prepared
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release

pytestmark = pytest.mark.alone

STATES: dict[str, Object] = {
    "auto": {"guard": {"enabled": "auto", "only": False}},
    "true": {"guard": {"enabled": True, "only": False}},
    "false": {"guard": {"enabled": False, "only": False}},
    "only": {"guard": {"enabled": "auto", "only": True}},
}
ORDER = ["false", "auto", "true", "false", "true", "auto", "false"]
"""Each change from one value of `guard.enabled` to another."""

WITH_ONLY = ["auto", "only", "auto"]
SECONDS = 0.2
"""From one create to the next."""

HOOKS = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
GUARD = "validatingadmissionpolicy,validatingadmissionpolicybinding"


@pytest.fixture
def release(cluster: Cluster) -> Iterator[Release]:
    with prepared(cluster, "self-managed", server={"shutdownDelay": "10s"}) as release:
        try:
            yield release
        finally:  # Helm leaves objects that kubectl has made
            cluster.kubectl("delete", "--ignore-not-found", "deployment", NAME, f"--namespace={NAMESPACE}")
            cluster.kubectl("delete", "--ignore-not-found", HOOKS, NAME)
            cluster.kubectl("delete", "--ignore-not-found", GUARD, f"{NAME}-guard")


@contextmanager
def _creating(cluster: Cluster, manifest: Object) -> Iterator[list[str]]:
    """Create a pod again and again as a dry run; the list gets each rejection, or an empty text."""
    over, answers = Event(), list[str]()

    def create() -> None:
        while not over.wait(SECONDS):
            answers.append(rejection(cluster, manifest))

    thread = Thread(target=create)
    thread.start()
    try:
        yield answers
    finally:
        over.set()
        thread.join()


def _wait_for_ten_more(answers: list[str]) -> None:
    answered = len(answers)
    wait_for("ten more creates", lambda: len(answers) >= answered + 10)


def _by_helm(release: Release, after: str) -> None:
    release.upgrade(STATES[after])


def _by_manifests(release: Release, after: str) -> None:
    """As docs/how-to/gitops.md asks: apply the new manifests, wait for the replicas, and delete leftovers."""
    apply = ("apply", "--server-side", "--force-conflicts", "--filename=-")
    release.cluster.kubectl(*apply, manifest=release.manifests(STATES[after]))
    if after == "only":
        release.cluster.kubectl("delete", "mutatingwebhookconfiguration", NAME)
        wait_for("no mutation", lambda: not is_mutated(release.cluster.api.create(DRY_POD, pod("probe"))))
        release.cluster.kubectl("delete", "validatingwebhookconfiguration", NAME)
        release.cluster.kubectl("delete", "deployment", NAME, f"--namespace={NAMESPACE}")
    else:
        rollout = ("rollout", "status", f"deployment/{NAME}", f"--namespace={NAMESPACE}", "--timeout=180s")
        release.cluster.kubectl(*rollout)
    if after == "false":
        release.cluster.kubectl("delete", GUARD, f"{NAME}-guard")


@pytest.mark.parametrize(
    ("switch", "order"),
    [
        (_by_helm, ORDER),
        (_by_manifests, WITH_ONLY),
        pytest.param(_by_helm, WITH_ONLY, marks=pytest.mark.exhaustive),
        pytest.param(_by_manifests, ORDER, marks=pytest.mark.exhaustive),
    ],
    ids=["helm, enabled", "manifests, only", "helm, only", "manifests, enabled"],
)
def test_switch_admits_no_pod_over_limit_and_refuses_no_other(
    release: Release,
    order: list[str],
    switch: Callable[[Release, str], None],
    record_property: Callable[[str, object], None],
) -> None:
    release.upgrade(STATES[order[0]])
    cluster = release.cluster
    wait_for("the hooks to deny", lambda: "GPS001" in rejection(cluster, pod("two", container(gpus=2))))
    with (
        _creating(cluster, pod("two", container(gpus=2))) as wrong,
        _creating(cluster, pod("one")) as right,
    ):
        for after in order[1:]:
            switch(release, after)
            if after == "only":  # a replica that ends between both calls of a create leaves the pod to the kubelet
                wait_for("no replicas", lambda: not cluster.api.items(f"{CORE}/pods"))
            _wait_for_ten_more(right)
    record_property("figures", f"{len(wrong)} pods over the limit, {len(right)} others")
    assert [(number, one) for number, one in enumerate(wrong) if "GPS00" not in one] == []
    assert [(number, one) for number, one in enumerate(right) if one] == []
