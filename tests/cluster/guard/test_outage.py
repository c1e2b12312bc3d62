"""The guard of the chart where no replica answers: what it denies, what it leaves alone, and what switches it off.

The control plane has no node, so that no replica of the webhook ever runs.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.chart.render import REGISTRY
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import namespace, rejection
from tests.cluster.harness.inventory import inventory, wait_left
from tests.cluster.harness.manifests import annotated, container, deployment, labelled, pod
from tests.cluster.harness.release import NAME, RELEASE, UPGRADE
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

pytestmark = pytest.mark.alone

NAMESPACE = "gpu-guard"
ACCOUNT = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}-mode"
CONTRACT = 3.0
"""Seconds within which the annotation is in force."""

DENIAL = f"ValidatingAdmissionPolicy '{NAME}-guard' with binding '{NAME}-guard' denied request: GPS00"
BESIDE: Object = {"guard": {"enabled": "auto", "only": False}}
ALONE: Object = {"guard": {"enabled": "auto", "only": True}}
OFF: Object = {"guard": {"enabled": False, "only": False}, "webhooks": {"validating": {"failurePolicy": "Ignore"}}}
TWO = pod("two", container(gpus=2))

DENIED: dict[str, Object] = {
    "two replicas": TWO,
    "2000m": pod("milli", {**container(), "resources": {"limits": {"nvidia.com/gpu": "2000m"}}}),
    "an init container": pod("init", initContainers=[container("first", gpus=3)]),
    "two containers": pod("pair", container("a"), container("b")),
    "a sidecar": pod("side", initContainers=[{**container("side"), "restartPolicy": "Always"}]),
    "another resource that is shared": pod("renamed", container(gpus=2, resource="nvidia.com/gpu.shared")),
}
ADMITTED: dict[str, Object] = {
    "one replica": pod("one"),
    "no GPU": pod("none", container(gpus=0)),
    "an init container before": pod("before", initContainers=[container("first")]),
    "a selected node": pod("selects", container(gpus=2), nodeSelector={"nvidia.com/gpu.sharing-strategy": "none"}),
    "a gate": pod("gated", container(gpus=2), schedulingGates=[{"name": "example.com/wait"}]),
    "another scheduler": pod("other", container(gpus=2), schedulerName="volcano"),
    "a queue": labelled(pod("queued", container(gpus=2)), **{"kueue.x-k8s.io/queue-name": "q"}),
    "a MIG slice beside": pod("mig", container("a", gpus=2), container("b", resource="nvidia.com/mig-1g.5gb")),
    "the annotation of the webhook": annotated(pod("seen", container(gpus=2)), **{"gpushare-webhook/injected": ""}),
}


class Installed:
    """A release of the chart."""

    def __init__(self, running: ControlPlaneOnly) -> None:
        self.running = running
        self.helm = Helm(running, NAMESPACE)

    def upgrade(self, values: Object) -> None:
        self.helm(*UPGRADE, values=({"image": {"registry": REGISTRY}}, values))

    def refusal(self, manifest: Object = TWO) -> str:
        """The API server's rejection of a pod; empty if it accepts the pod."""
        return rejection(self.running, manifest)

    def wait_denying(self) -> None:
        wait_for("the guard to deny", lambda: DENIAL in self.refusal())

    def wait_off(self) -> float:
        """Wait until the guard denies nothing; returns the seconds that it took."""
        began = time.monotonic()
        wait_for("the guard to be off", lambda: not self.refusal(), every=0.05)
        return time.monotonic() - began


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with control_plane() as started:
        yield started


@pytest.fixture
def release(running: ControlPlaneOnly) -> Iterator[Installed]:
    with namespace(running, NAMESPACE):
        installed = Installed(running)
        try:
            yield installed
        finally:
            installed.helm("uninstall", RELEASE, "--ignore-not-found")


def _assert_guarded(release: Installed) -> None:
    refused = {what: release.refusal(one) for what, one in (DENIED | ADMITTED).items()}
    assert [what for what in DENIED if DENIAL not in refused[what]] == []
    assert {what: refused[what] for what in ADMITTED if refused[what]} == {}


def test_guard_denies_alone_what_is_over_limits_and_nothing_else(release: Installed) -> None:
    release.upgrade(BESIDE)
    release.wait_denying()
    _assert_guarded(release)
    path = "/apis/apps/v1/namespaces/default/deployments?dryRun=All"
    assert release.running.api.create(path, deployment("two", container(gpus=2)))
    for _ in range(3):
        release.running.control.restart_api_server()
        _assert_guarded(release)


def test_annotation_and_missing_account_switch_guard_off(
    release: Installed, record_property: Callable[[str, Any], None]
) -> None:
    release.upgrade(ALONE)
    release.wait_denying()
    for mode in ("warn", "audit", "off"):
        release.running.api.patch(ACCOUNT, _annotation(mode))
        took = release.wait_off()
        record_property(f"{mode} in force after", f"{took:.2f} s")
        assert took < CONTRACT
        release.running.api.patch(ACCOUNT, _annotation(None))
        release.wait_denying()
    account = release.running.api.get(ACCOUNT)
    release.running.api.delete(ACCOUNT)
    release.wait_off()
    kept = {key: account["metadata"][key] for key in ("name", "labels")}
    release.running.api.create(ACCOUNT.rpartition("/")[0], {"metadata": kept})
    release.wait_denying()


def _annotation(mode: str | None) -> Object:
    return {"metadata": {"annotations": {"gpushare-webhook/mode": mode}}}


def test_guard_is_in_force_through_each_change_but_off(release: Installed) -> None:
    """At each change of the installation, no pod over the limit is admitted, and no other one refused."""
    before = inventory(release.running)
    release.upgrade(ALONE)
    release.wait_denying()
    for values in (BESIDE, ALONE, BESIDE):
        release.upgrade(values)
        answers = [(release.refusal(), release.refusal(ADMITTED["one replica"])) for _ in range(100)]
        assert all(DENIAL in refused and not hindered for refused, hindered in answers)
    release.upgrade(OFF)
    release.wait_off()
    release.helm("rollback", RELEASE, "1")
    release.wait_denying()
    release.helm("uninstall", RELEASE)
    wait_left(release.running, before, set())
    release.wait_off()


def test_guard_of_plain_manifests_is_that_of_chart(release: Installed) -> None:
    from tests.cli.run import run

    exported = run("export", "guard", "--config=/dev/null", f"--installed-as={NAMESPACE}/{NAME}")
    assert exported.code == 0, json.dumps(exported.err)
    release.running.kubectl("apply", "--server-side", "--filename=-", manifest=exported.out)
    release.wait_denying()
    _assert_guarded(release)
    release.running.kubectl("delete", "--filename=-", manifest=exported.out)
    release.wait_off()
