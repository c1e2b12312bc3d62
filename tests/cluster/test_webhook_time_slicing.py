"""Time-slicing nodes: the device plugin decides whether two replicas are legal, and the settings follow it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.manifests import STRATEGY, container, pod
from tests.cluster.harness.options import time_slicing
from tests.cluster.harness.webhook import BASE, webhook
from tests.cluster.workloads import REFUSAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

TIME_SLICED = {STRATEGY: "time-slicing"}
LIMITED = {"limits": {"timeSlicing": {"perContainer": 1}}}
GPS001 = 'GPS001 container "main" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is time-sliced; ask for 1'
TWO = pod("two", container(gpus=2), nodeSelector=TIME_SLICED)


def _check(folder: Path, manifest: Object, settings: Object) -> tuple[int, list[str]]:
    """The exit status of `check` with these settings, and its findings as the webhook words them."""
    file = folder / "settings.yaml"
    file.write_text(json.dumps(BASE | settings))
    command = [sys.executable, "-m", "webhook", "check", "--filename=-", f"--config={file}", "--output=json"]
    done = subprocess.run(command, input=json.dumps(manifest), capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    findings = [found for result in json.loads(done.stdout)["results"] for found in result["findings"]]
    return done.returncode, [f"{found['code']} {found['message']}; {found['remedy']}" for found in findings]


@pytest.fixture
def strict(cluster: Cluster) -> Iterator[None]:
    """The node shares its GPU by time-slicing, and its device plugin rejects requests for more than one replica."""
    with cluster.node.sharing(time_slicing(4, fail_requests=True)), cluster.node.marked(TIME_SLICED):
        yield


@pytest.mark.usefixtures("strict")
def test_two_replicas_are_rejected_before_device_plugin_fails_them(space: Workspace, tmp_path: Path) -> None:
    space.api.create(space.pods, TWO)
    failed = space.wait_failed("two")
    assert (failed["status"]["reason"], failed["status"]["message"]) == ("UnexpectedAdmissionError", REFUSAL)
    assert _check(tmp_path, TWO, LIMITED) == (1, [GPS001])
    space.kubectl("delete", "pod", "two")
    with webhook(space.cluster, settings=LIMITED):
        done = space.run("create", "-f", "-", manifest=TWO)
        assert done.stderr.endswith(f"denied the request: {GPS001}\ngpushare-webhook explain GPS001\n")
        assert space.api.items(space.pods) == []
        space.start(pod("one", nodeSelector=TIME_SLICED))
