"""NVIDIA's plugin code over a mock driver reads the configurations of fixtures, without a cluster."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import gobuild
from tests.cluster.harness.cache import ToolsMissingError
from tests.fixture import load_all
from webhook.policy.sharing.config import refusal
from webhook.policy.sharing.objects import of_object

if TYPE_CHECKING:
    from pathlib import Path

FIXTURES = [one for one in load_all() if one.folder in ("GPS030", "GPS031") and "version" not in str(one.settings)]
RELEASE = "v0.19.0"
"""The release in `go/deviceplugin/go.mod`."""

VALIDATED = {
    "GPS030/mps-with-mixed-mig",
    "GPS030/unknown-mig-strategy",
}
"""Fixtures that `validateFlags` of the plugin's own main package refuses, which tests/deviceplugin runs."""


@pytest.fixture(scope="session")
def plugin() -> Path:
    try:
        return gobuild.device_plugin().find() / "nvidia-device-plugin"
    except ToolsMissingError as reason:
        pytest.skip(str(reason))


_ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-c")
_HIDE = 'mount -t tmpfs none /var/lib && exec env PATH=/nowhere "$@"'
"""Hides a kubelet of this machine and a control program of MPS from the plugin, which ends without one of them."""


def starts(plugin: Path, file: Path) -> bool:
    """Whether the plugin reads a file, and begins to serve devices."""
    command = [*_ALONE, _HIDE, "sh", str(plugin), f"--config-file={file}", "--mps-root=/run/nvidia/mps"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stderr
    assert "The device plugin ends" in said, said
    return "Starting a plugin" in said


def test_refused_fixtures_are_refused_and_others_start(plugin: Path, tmp_path: Path) -> None:
    differing = set()
    for fixture in FIXTURES:
        value = of_object(fixture.object)
        file = tmp_path / "config.json"
        file.write_text(json.dumps(value))
        if starts(plugin, file) != (refusal(value) is None):
            differing.add(fixture.name)
    assert differing == VALIDATED
