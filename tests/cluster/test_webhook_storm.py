"""A pod storm: failed pods without end without the webhook, and none with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.manifests import container
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook
from tests.cluster.workloads import workload

if TYPE_CHECKING:
    from tests.cluster.harness.workspace import Workspace

pytestmark = pytest.mark.alone

MANY = 50


def _refusals(space: Workspace) -> int:
    """How many pods of the namespace were denied, according to the webhook's log.

    Events do not show it: after 25 events about a ReplicaSet, the API client drops more.
    """
    lines = space.cluster.kubectl("-n", product.NAME, "logs", f"deployment/{product.NAME}").splitlines()
    entries = [json.loads(line) for line in lines]
    refused = {"namespace": space.name, "kind": "Pod", "allowed": False, "codes": ["GPS001"]}
    return sum(all(entry.get(key) == value for key, value in refused.items()) for entry in entries)


def test_webhook_prevents_pod_storm(space: Workspace) -> None:
    storm = workload("Deployment", container(gpus=2))
    space.create(storm)
    # A kubelet that has just started reports its first rejection late: count from there.
    wait_for("a first failed pod", space.failed)
    wait_for("fifty failed pods", lambda: len(space.failed()) >= MANY)
    space.kubectl("scale", "deployment", "main", "--replicas=0")
    space.kubectl("delete", "pods", "--all")
    with webhook(space.cluster):
        # The template existed before the webhook, and scaling does not change it.
        space.kubectl("scale", "deployment", "main", "--replicas=1")
        wait_for("pods to be refused again and again", lambda: _refusals(space) >= MANY // 10)
        assert space.api.items(space.pods) == []

        space.kubectl("delete", "deployment", "main")
        done = space.run("apply", "-f", "-", manifest=storm)
        assert done.returncode == 1
        assert "denied the request: GPS001 " in done.stderr
        assert "NotFound" in space.run("get", "deployment", "main").stderr
