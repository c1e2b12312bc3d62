"""Another webhook adds a container after the injections: the API server asks again, and only the new part changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.manifests import container, labelled, pod
from tests.cluster.harness.standin import Answer, allow, is_called, registered, stand_in
from tests.cluster.harness.waiting import wait_for
from tests.cluster.policies.comparison import changes
from tests.cluster.policies.installed import exported, installed
from tests.cluster.policies.sides import HOOKED, POLICED
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.policies.sides import Sides

pytestmark = pytest.mark.exhaustive

_ADDED = "added"
_PATCHES = "apiserver_mutating_admission_policy_check_total{"


def _sidecar(review: Object) -> Answer:
    """Add a container that asks for a GPU, once."""
    containers = review["request"]["object"]["spec"]["containers"]
    if any(one["name"] == _ADDED for one in containers):
        return allow(review)
    return allow(review, {"op": "add", "path": "/spec/containers/-", "value": container(_ADDED)})


@pytest.fixture(scope="module", autouse=True)
def policies(both: Sides, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    settings = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "limits": {"perPod": 3}}
    both.evaluator = Evaluator.of(replace(Settings(), limits=replace(Settings().limits, per_pod=3)))
    with (
        installed(both.running, exported(tmp_path_factory.mktemp("policies"), settings)),
        stand_in(both.running.place, _sidecar) as neighbour,
        registered(both.running, neighbour, "z-neighbour", failurePolicy="Fail", reinvocationPolicy="IfNeeded"),
    ):
        wait_for("the neighbour to be called", lambda: is_called(both.running, neighbour))
        yield


@pytest.mark.parametrize("other", [container("other", gpus=0), container("other")], ids=["plain", "asking"])
def test_added_container_gets_injections_once(both: Sides, other: Object) -> None:
    """A pod that asked for no GPU before stays as it is: the API server asks only those again that it has asked."""
    asking = labelled(pod("one", container(), other, automountServiceAccountToken=False), called="yes")
    by_policies, by_webhook = both.create(asking, POLICED), both.create(asking, HOOKED)
    assert changes("", by_policies.made, by_webhook.made) == []
    spec = by_policies.made["spec"]
    (added,) = [one for one in spec["containers"] if one["name"] == _ADDED]
    assert [one["name"] for one in added["env"]] == ["CUDA_MPS_PIPE_DIRECTORY"]
    assert [one["name"] for one in spec["volumes"]] == ["gpushare-mps-nvidia-com-gpu"]
    names = by_policies.made["metadata"]["annotations"]["gpushare-webhook/injected"].split(",")
    assert sorted(names) == ["pipeDirectory", "pipeMount", "runtimeClass", "tolerations"]


def test_complete_pod_is_patched_once(both: Sides) -> None:
    """After the patch, the API server asks all policies again, and the pod lacks nothing."""
    before = _patches(both)
    both.create(pod("one", container(), automountServiceAccountToken=False), POLICED)
    assert _patches(both) - before == 1


def _patches(both: Sides) -> int:
    """How often the API server has applied a MutatingAdmissionPolicy."""
    _, _, text = both.running.api.request("GET", "/metrics")
    counts = [line for line in text.decode().splitlines() if line.startswith(_PATCHES)]
    return sum(int(line.rpartition(" ")[2]) for line in counts)
