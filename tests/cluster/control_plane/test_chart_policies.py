"""Policies that the chart installs, on an API server: alone, and beside a webhook of which no replica runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import DRY_POD, is_mutated, namespace, rejection
from tests.cluster.harness.inventory import inventory, wait_left
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.release import NAME, RELEASE, UPGRADE
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

NAMESPACE = "gpu-policies"
KINDS = [f"{part}admissionpolic{end}" for part in ("mutating", "validating") for end in ("ies", "ybindings")]
ALONE: Object = {
    "policies": {"enabled": True, "only": True},
    "config": {"facts": {"runtimeClasses": False}},
}
BESIDE: Object = {"policies": {"enabled": True, "only": False}, "config": {"facts": {"runtimeClasses": False}}}
HOOKS: Object = {"policies": {"enabled": False, "only": False}}
TWO = pod("two", container(gpus=2))


class Installed:
    """A release on a control plane without a node, so that no replica of its webhook ever runs."""

    def __init__(self, running: ControlPlaneOnly) -> None:
        self.running = running
        self.helm = Helm(running, NAMESPACE)

    def upgrade(self, values: Object) -> None:
        self.helm(*UPGRADE, values=(values,))

    def stored(self) -> set[str]:
        """The policies and bindings of the release."""
        names = self.running.kubectl(
            "get", ",".join(KINDS), f"--selector=app.kubernetes.io/instance={RELEASE}", "-oname"
        )
        return set(names.split())

    def refusal(self) -> str:
        """The API server's rejection of a pod with two replicas; empty if it accepts the pod."""
        return rejection(self.running, TWO)

    def injects(self) -> bool:
        return is_mutated(self.running.api.create(DRY_POD, pod("one")))


@pytest.fixture
def release(running: ControlPlaneOnly) -> Iterator[Installed]:
    with namespace(running, NAMESPACE):
        installed = Installed(running)
        try:
            yield installed
        finally:
            installed.helm("uninstall", RELEASE, "--ignore-not-found")


def _wait_enforced(release: Installed) -> None:
    """An API server compiles all expressions again after a change, on a busy machine for a while."""
    in_force = "the policies to be in force"
    wait_for(in_force, lambda: "GPS001" in release.refusal() and release.injects(), seconds=120)


def _wait_off(release: Installed) -> None:
    wait_for("the policies to be off", lambda: not release.refusal() and not release.injects(), seconds=120)


def test_policies_alone_enforce_until_annotation_switches_them_off(release: Installed) -> None:
    release.upgrade(ALONE)
    _wait_enforced(release)
    assert f"ValidatingAdmissionPolicy '{NAME}-gps001'" in release.refusal()
    annotate = ("annotate", "serviceaccount", f"{NAME}-parameters", f"--namespace={NAMESPACE}", "--overwrite")
    release.running.kubectl(*annotate, "gpushare-webhook/mode=off")
    _wait_off(release)
    release.running.kubectl(*annotate, "gpushare-webhook/mode-")
    _wait_enforced(release)


def test_policies_follow_upgrades_rollback_and_uninstall(release: Installed) -> None:
    before = inventory(release.running)
    release.upgrade(ALONE)
    alone = release.stored()
    assert {name.partition("/")[0].partition(".")[0] for name in alone} == {
        *(f"{part}admissionpolicy" for part in ("mutating", "validating")),
        *(f"{part}admissionpolicybinding" for part in ("mutating", "validating")),
    }
    release.upgrade(HOOKS)
    assert release.stored() == set()
    wait_for("the policies to be gone", lambda: "GPS001" not in release.refusal(), seconds=120)
    release.helm("rollback", RELEASE, "1")
    assert release.stored() == alone
    _wait_enforced(release)
    release.upgrade(BESIDE)
    assert release.stored() == alone
    _wait_enforced(release)
    release.helm("uninstall", RELEASE)
    wait_left(release.running, before, set())
    _wait_off(release)
