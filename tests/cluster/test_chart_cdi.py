"""The RuntimeClass `nvidia-legacy`, by which the webhook detects CDI: the servers follow it while they run."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.manifests import CLASSES, pod
from tests.cluster.harness.release import NAMESPACE, prepared
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

MARKER = "nvidia-legacy"
REASON = "the cluster injects devices through CDI (RuntimeClass nvidia-legacy), see injections.runtimeClass.whenCdi"


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    with prepared(cluster, "self-managed", log={"level": "debug"}) as release:
        release.upgrade()
        yield release


def _log(release: Release, server: str) -> list[Object]:
    """The entries of a server's log."""
    return [json.loads(line) for line in release.cluster.kubectl("-n", NAMESPACE, "logs", server).splitlines()]


def _wait_known(release: Release, *classes: str) -> None:
    """Wait until these are the RuntimeClasses that every server last read."""

    def reached() -> bool:
        for one in release.pods():
            read = [
                entry for entry in _log(release, one["metadata"]["name"]) if entry["event"] == "runtime classes read"
            ]
            if not read or read[-1]["names"] != sorted(classes):
                return False
        return True

    wait_for(f"every server to know {', '.join(classes)}", reached, every=0.25)


def _processes(release: Release) -> set[tuple[str, int]]:
    """The servers and how often each was restarted."""
    return {(one["metadata"]["uid"], one["status"]["containerStatuses"][0]["restartCount"]) for one in release.pods()}


def _ran_in_class(release: Release, running: Object) -> bool:
    """Whether the handler of the RuntimeClass `nvidia` started the container of a pod."""
    made = running["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    return made in release.cluster.node.containers.calls("nvidia").read_text()


def test_runtime_class_is_injected_only_while_cdi_marker_is_absent(
    release: Release, space: Workspace, record_property: Callable[[str, object], None]
) -> None:
    servers = _processes(release)
    _wait_known(release, "nvidia")
    before = space.start(pod("before"))
    with release.cluster.api.created(CLASSES, {"metadata": {"name": MARKER}, "handler": MARKER}):
        created = time.monotonic()
        _wait_known(release, "nvidia", MARKER)
        record_property("every server knew the RuntimeClass after", f"{time.monotonic() - created:.1f} s")
        within = space.start(pod("within"))
    _wait_known(release, "nvidia")
    after = space.start(pod("after"))

    assert [one["spec"].get("runtimeClassName") for one in (before, within, after)] == ["nvidia", None, "nvidia"]
    assert [_ran_in_class(release, one) for one in (before, within, after)] == [True, False, True]
    assert "CUDA_MPS_PIPE_DIRECTORY=/mps/nvidia.com/gpu/pipe" in space.environment("within")
    assert _reasons(release, space, "within") == {REASON}
    assert REASON not in _reasons(release, space, "before") | _reasons(release, space, "after")
    assert _processes(release) == servers


def _reasons(release: Release, space: Workspace, name: str) -> set[str]:
    """Why no RuntimeClass was injected into a pod, from the servers' logs."""
    entries = [entry for one in release.pods() for entry in _log(release, one["metadata"]["name"])]
    reviews = [entry for entry in entries if entry["event"] == "review" and entry["hook"] == "mutate"]
    uids = {entry["uid"] for entry in reviews if (entry["namespace"], entry["name"]) == (space.name, name)}
    assert uids
    withheld = [entry for entry in entries if entry["event"] == "not injected" and entry["uid"] in uids]
    return {entry["reason"] for entry in withheld if entry["injection"] == "runtimeClass"}
