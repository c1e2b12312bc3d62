"""A reader of the pages, at a shell: runs their commands as the administrator of a cluster with the release."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chart import tools
from tests.cluster.harness.release import CHART, NAME, NAMESPACE, RELEASE

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster
    from tests.project.pages import Block

# The pages name the release and its namespace `gpushare-webhook`; those of the tests have other names.
_NAMES = {
    "--namespace gpushare-webhook": f"--namespace {NAMESPACE}",
    "helm upgrade gpushare-webhook": f"helm upgrade {RELEASE}",
    "helm rollback gpushare-webhook": f"helm rollback {RELEASE}",
    "helm get values gpushare-webhook": f"helm get values {RELEASE}",
    "configmap gpushare-webhook": f"configmap {NAME}",
    "serviceaccount gpushare-webhook": f"serviceaccount {NAME}",
    "/namespaces/gpushare-webhook/": f"/namespaces/{NAMESPACE}/",
    "configuration gpushare-webhook": f"configuration {NAME}",
    "deployment gpushare-webhook": f"deployment {NAME}",
}


class Reader:
    """Works in a folder of its own, with the chart where a clone has it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.folder = cluster.place.folder / "reader"
        self.folder.mkdir(exist_ok=True)
        charts = self.folder / "charts"
        if not charts.is_symlink():
            charts.symlink_to(CHART.parent)

    def run(self, block: Block) -> str:
        """Run the commands of a block. Returns their output with their errors, whatever their exit status."""
        return self._run(block.script).stdout

    def succeed(self, block: Block) -> str:
        """Run the commands of a block, and return their output. Raises `RuntimeError` when one of them fails."""
        done = self._run(block.script)
        if done.returncode:
            raise RuntimeError(f"{block.where} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        for shown, actual in _NAMES.items():
            script = script.replace(shown, actual)
        control = self._cluster.control
        programs = (control.tools.kubectl.parent, Path(tools.helm()).parent)
        environment = os.environ | {
            "KUBECONFIG": str(control.kubeconfigs["admin"]),
            "PATH": ":".join([*map(str, programs), os.environ["PATH"]]),
            "HOME": str(self.folder),
        }
        # Entering a mount namespace leads to its root folder.
        shell = self._cluster.inside.command(["env", f"--chdir={self.folder}", "bash", "-o", "pipefail", "-ec", script])
        return subprocess.run(
            shell,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
