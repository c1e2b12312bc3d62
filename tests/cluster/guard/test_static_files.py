"""The page about policy files, word by word: an API server denies by the exported file, and follows its changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import run
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.hooks import rejection
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.waiting import wait_for
from tests.project.pages import page_block
from tests.project.repository import ROOT, blocks

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import ControlPlaneOnly

PAGE = "docs/how-to/static-policies.md"
FOLDER = "/etc/kubernetes/policies"
GATE = "ManifestBasedAdmissionControlConfig"


@pytest.mark.exhaustive
def test_api_server_denies_by_guard_of_file(needs_control_plane: None, tmp_path: Path) -> None:
    block = page_block(PAGE, "--static")
    folder = tmp_path / "policies"
    folder.mkdir()
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-ec", block.script], cwd=folder, env=environment, check=True)
    (configuration,) = [content for language, content in blocks(ROOT / PAGE) if language == "yaml"]
    file = tmp_path / "admission.yaml"
    file.write_text(configuration.replace(FOLDER, str(folder)))
    options = ControlPlaneOptions(
        feature_gates={GATE: True}, api_server_flags=(f"--admission-control-config-file={file}",)
    )
    with control_plane(options, place=Loopback) as running:
        wait_for("the file to deny", lambda: "GPS001" in _denial(running))
        listed = running.api.items("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")
        assert [one["metadata"]["name"] for one in listed if "gpushare" in one["metadata"]["name"]] == []

        settings = tmp_path / "settings.yaml"
        settings.write_text("limits: {perContainer: 2, perPod: 2}")
        written = run("export", "guard", "--static", "--config", settings)
        assert written.code == 0, written.err
        (folder / "guard.yaml").write_text(written.out)
        wait_for("the changed file to be in force", lambda: not _denial(running), seconds=120, every=1)


def _denial(running: ControlPlaneOnly) -> str:
    return rejection(running, pod("two", container(gpus=2)))
