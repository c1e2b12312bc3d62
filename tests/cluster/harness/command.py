"""The command line beside a cluster: the installed program, as the administrator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

    from tests.cluster.harness.cluster import Cluster

_PROGRAM = Path(sys.executable).parent / "gpushare-webhook"


def command(cluster: Cluster, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that reads the cluster, and return its result, whatever the exit status."""
    kubeconfig = cluster.control.kubeconfigs["admin"]
    # The files are read-only in there.
    environment = {"PYTHONDONTWRITEBYTECODE": "1"}
    return cluster.inside.run(
        [str(_PROGRAM), name, *arguments, "--kubeconfig", str(kubeconfig)], environment=environment
    )
