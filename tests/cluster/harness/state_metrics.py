"""kube-state-metrics beside the cluster: the states of Deployments and pods as metrics."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.harness import gobuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly

_PORT, _OWN_PORT = 8085, 8086


@contextmanager
def state_metrics(running: ControlPlaneOnly, namespace: str) -> Iterator[str]:
    """kube-state-metrics for one namespace and the time of the context; yields its address as `HOST:PORT`.

    It reads the API server as administrator. Raises `ToolsMissingError`.
    """
    place = running.place
    program = gobuild.kube_state_metrics().find() / "kube-state-metrics"
    port = place.port(_PORT)
    command = [
        str(program),
        f"--kubeconfig={running.control.kubeconfigs['admin']}",
        f"--namespaces={namespace}",
        "--resources=deployments,pods,namespaces",
        f"--host={place.address}",
        f"--port={port}",
        f"--telemetry-host={place.address}",
        f"--telemetry-port={place.port(_OWN_PORT)}",
    ]
    process = place.start("kube-state-metrics", command)
    try:
        yield f"{place.address}:{port}"
    finally:
        process.stop()
