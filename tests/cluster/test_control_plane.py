"""The control plane alone, in namespaces and on loopback, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.manifests import GPU, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback, Namespaces, missing_rights
from tests.cluster.harness.tools import kubernetes_version

if TYPE_CHECKING:
    from tests.cluster.harness.place import Place


@pytest.fixture(params=[pytest.param(Loopback, marks=pytest.mark.exhaustive), Namespaces])
def place(request: pytest.FixtureRequest, needs_control_plane: None) -> type[Place]:
    if request.param is Namespaces and (problem := missing_rights()):
        pytest.skip(problem)
    kind: type[Place] = request.param
    return kind


def test_control_plane_schedules_controls_and_admits(place: type[Place]) -> None:
    options = ControlPlaneOptions(admission_plugins=("ExtendedResourceToleration",))
    with control_plane(options, place=place) as running:
        assert running.api.get("/version")["gitVersion"] == f"v{kubernetes_version()}"
        assert f"Server Version: v{kubernetes_version()}" in running.kubectl("version")
        made = running.api.create("/api/v1/namespaces/default/pods?dryRun=All", pod("one"))
        tolerated = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
        assert tolerated in made["spec"]["tolerations"], "the admission plugin is on"
        running.kubectl("create", "deployment", "waiting", "--image=none")
        pods = "/api/v1/namespaces/default/pods"
        running.kubectl("wait", "--for=condition=PodScheduled=False", "pod", "--all", "--timeout=180s")
        (made,) = running.api.items(pods)
        assert "no nodes available" in made["status"]["conditions"][0]["message"]


def test_missing_tools_error_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with (
        pytest.raises(ToolsMissingError, match=r"kubernetes-.* is not built .*: run `make cluster-tools`"),
        control_plane(),
    ):
        pass


def test_ports_of_two_places_differ_and_no_outgoing_connection_takes_them(tmp_path: Path) -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    places = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        places.append(Loopback(tmp_path / name))
    ports = [place.port(6443) for place in (*places, *places)]
    assert len(set(ports)) == len(ports)
    assert max(ports) < first_outgoing
    for place in places:
        place.close()
