"""The commands of the emergency page for policies, word by word, where no replica of the webhook runs."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cli.run import run
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.hooks import namespace, rejection
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.waiting import wait_for
from tests.project.pages import page_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.project.pages import Block

NAME = "gpushare-webhook"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
CONTRACT = 3.0
"""Seconds within which the annotation is in force."""

LABELS = {"app.kubernetes.io/instance": NAME, "app.kubernetes.io/component": "policies"}
"""The labels of the chart."""


pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane with the object from which the policies of a release take the mode."""
    with control_plane(place=Loopback) as started, namespace(started, NAME) as path:
        started.api.create(f"{path}/serviceaccounts", {"metadata": {"name": f"{NAME}-parameters"}})
        # The policies inject it, and the API server rejects pods with a class that does not exist.
        started.api.create(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        yield started


@pytest.fixture
def policies(running: ControlPlaneOnly) -> Iterator[ControlPlaneOnly]:
    """The control plane with the policies of the default settings."""
    written = run("export", "policies", "--installed-as", f"{NAME}/{NAME}").out
    objects = [one for one in yaml.load_all(written, yaml.CSafeLoader) if one]
    for one in objects:
        one["metadata"]["labels"] = LABELS
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    running.kubectl("apply", "--server-side", "--filename=-", manifest=items)
    wait_for("the policies to deny", lambda: _denies(running), seconds=90)
    yield running
    running.kubectl("delete", "--ignore-not-found", "--filename=-", manifest=items)


def _denies(running: ControlPlaneOnly) -> bool:
    rejected = rejection(running, pod("two", container(gpus=2)))
    assert not rejected or "GPS001" in rejected, rejected
    return bool(rejected)


def _succeed(running: ControlPlaneOnly, block: Block) -> None:
    environment = os.environ | {
        "KUBECONFIG": str(running.control.kubeconfigs["admin"]),
        "PATH": f"{running.control.tools.kubectl.parent}:{os.environ['PATH']}",
    }
    subprocess.run(["bash", "-ec", block.script], env=environment, check=True, timeout=60)


def test_annotation_of_page_stops_policies_without_replicas(
    policies: ControlPlaneOnly, record_property: Callable[[str, object], None]
) -> None:
    _succeed(policies, page_block("docs/how-to/emergency.md", "--overwrite \\\n  gpushare-webhook/mode=off"))
    began = time.monotonic()
    wait_for("the policies to stop", lambda: not _denies(policies), every=0.05)
    took = time.monotonic() - began
    record_property("in force after", f"{took:.2f} s")
    assert took < CONTRACT
    _succeed(
        policies,
        page_block(
            "docs/how-to/emergency.md",
            "serviceaccount gpushare-webhook-parameters --namespace gpushare-webhook gpushare",
        ),
    )
    wait_for("the policies to deny again", lambda: _denies(policies))


def test_deleted_bindings_stop_policies(policies: ControlPlaneOnly) -> None:
    _succeed(policies, page_block("docs/how-to/emergency.md", "validatingadmissionpolicybinding"))
    wait_for("the policies to stop", lambda: not _denies(policies))
