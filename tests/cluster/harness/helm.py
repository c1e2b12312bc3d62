"""Helm as the administrator, in one namespace of a cluster."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

from tests.chart import tools

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly


class Helm:
    """Helm without any configuration of the user. Raises `ToolsMissingError` when it has not been built."""

    def __init__(self, running: ControlPlaneOnly, namespace: str) -> None:
        self._home = running.place.folder / "helm"
        self._home.mkdir(exist_ok=True)
        kubeconfig = running.control.kubeconfigs["admin"]
        program = [tools.helm(), f"--kubeconfig={kubeconfig}", f"--namespace={namespace}"]
        self._command = running.place.command(["env", f"HOME={self._home}", *program])

    def run(self, *arguments: str, values: tuple[Object, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run it and return its result, whatever the exit status. Later values override earlier ones."""
        files = [self._home / f"values-{number}.json" for number in range(len(values))]
        for file, given in zip(files, values, strict=True):
            file.write_text(json.dumps(given))
        command = [*self._command, *arguments, *(f"--values={file}" for file in files)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")}
        return subprocess.run(command, env=clean, capture_output=True, text=True, timeout=300, check=False)

    def __call__(self, *arguments: str, values: tuple[Object, ...] = ()) -> str:
        """Run it and return its output. Raises `RuntimeError` with its error output when it fails."""
        done = self.run(*arguments, values=values)
        if done.returncode:
            raise RuntimeError(f"helm {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout
