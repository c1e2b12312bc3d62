"""Profile `kai`: pods ask for a share by annotation or for whole cards, and the MPS daemon runs on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import NodeOptions, whole
from tests.cluster.harness.release import Release, prepared
from tests.cluster.harness.workspace import Workspace, workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object

PIPE = "/tmp/nvidia-mps"  # noqa: S108
VARIABLE = f"CUDA_MPS_PIPE_DIRECTORY={PIPE}"
FRACTION = {"gpu-fraction": "0.5"}
OF_TRAIN = FRACTION | {"gpu-fraction-container-name": "train"}


@pytest.fixture(scope="module")
def release(needs_node: None) -> Iterator[Release]:
    """The chart with the profile, on a node with whole cards whose MPS daemon has its directory on the host."""
    with (
        clusters.cluster(node=NodeOptions(plugin=whole())) as running,
        running.node.marked({"nvidia.mps/enabled": "true"}),
        prepared(running, "existing-secret") as release,
    ):
        release.upgrade({"config": {"profile": "kai"}})
        running.inside.cover("/tmp")  # noqa: S108 - after the installation, whose chart may be there
        directory = running.inside.path(PIPE)
        directory.mkdir()
        (directory / "of-the-daemon").touch()
        yield release


@pytest.fixture
def space(release: Release, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    with workspace(release.cluster, request.node.name) as made:
        yield made


def _pod(**annotations: str) -> Object:
    """A pod of the containers `proxy` and `train`, neither of which has a GPU limit."""
    made = pod("main", container("proxy", gpus=0), container("train", gpus=0))
    return made | {"metadata": made["metadata"] | {"annotations": annotations}}


@pytest.mark.parametrize(
    ("annotations", "container", "other"), [(FRACTION, "proxy", "train"), (OF_TRAIN, "train", "proxy")]
)
def test_container_with_fraction_reaches_daemon_of_host(
    space: Workspace, annotations: dict[str, str], container: str, other: str
) -> None:
    running = space.start(_pod(**annotations))
    assert "runtimeClassName" not in running["spec"]  # KAI sets it
    assert VARIABLE in space.environment("main", container=container)
    (mount,) = space.mounts("main", PIPE, container=container)
    assert (mount.root, mount.kind) == ("/nvidia-mps", "tmpfs")
    assert space.sh("main", f"ls {PIPE}", container=container) == "of-the-daemon\n"
    assert not [entry for entry in space.environment("main", container=other) if entry.startswith("CUDA_MPS")]
    assert space.mounts("main", PIPE, container=other) == []


def test_pod_without_annotation_is_unchanged(space: Workspace) -> None:
    running = space.start(_pod(team="a"))
    assert "runtimeClassName" not in running["spec"]
    assert "nvidia" not in str(running["spec"])
    assert running["metadata"]["annotations"] == {"team": "a"}
    for name in ("proxy", "train"):
        assert not [entry for entry in space.environment("main", container=name) if entry.startswith("CUDA_MPS")]
        assert space.mounts("main", PIPE, container=name) == []


def test_pod_with_two_whole_cards_gets_no_finding_and_no_pipe_directory(space: Workspace) -> None:
    labels = {"pool": "cards", "nvidia.mps/enabled": "true"}
    with node_object(space.cluster, "cards-1", labels, gpus=4) as node:
        asks = pod("main", container(gpus=2), nodeSelector={"pool": "cards"})
        done = space.run("create", "-f", "-", manifest=asks)
        assert (done.returncode, done.stderr) == (0, "")
        bound = space.wait_bound("main")
        assert bound["spec"]["nodeName"] == node
        assert "nvidia-mps" not in str(bound["spec"])
