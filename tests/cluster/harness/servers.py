"""The webhook's pods, one by one: metrics, certificate, process on the node, and limits."""

from __future__ import annotations

import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509

from tests.cluster.harness import cgroups, health
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.waiting import met, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

PODS = f"/api/v1/namespaces/{product.NAME}/pods"
_PORT, _HEALTH_PORT = 10250, 8080


@dataclass(frozen=True, slots=True)
class ServerPod:
    """One pod of the webhook."""

    cluster: Cluster
    name: str
    uid: str
    address: str

    def status(self) -> Object:
        """The state of its container, as the kubelet reports it."""
        found: Object = self.cluster.api.get(f"{PODS}/{self.name}")["status"]["containerStatuses"][0]
        return found

    def health(self, path: str) -> str:
        """The answer of the health port. Raises `OSError` if nothing listens."""
        return health.page(self._connect, path)[1]

    def _connect(self) -> socket.socket:
        return self.cluster.place.connect(self.address, _HEALTH_PORT, 5)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels; 0 when there is none."""
        return health.total(health.metrics(self._connect), name, **labels)

    def leaf(self) -> x509.Certificate:
        """The certificate that it serves on a new connection."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(self.cluster.place.connect(self.address, _PORT, 5)) as secure:
            return x509.load_der_x509_certificate(secure.getpeercert(binary_form=True) or b"")

    @property
    def group(self) -> Path:
        """The control group of its container, where memory is counted."""
        container, name = self.status()["containerID"].rpartition("/")[2], self.cluster.inside.folder.name
        (root,) = [one / name for one in cgroups.hierarchies() if any((one / name / file).exists() for file in _NOW)]
        (found,) = root.rglob(f"pod{self.uid}/{container}")
        return found

    @property
    def killed_for_memory(self) -> int:
        """How many processes of its container the kernel has killed for exceeding the memory limit."""
        (line,) = [line for line in _read(self.group, _EVENTS).splitlines() if line.startswith("oom_kill ")]
        return int(line.split()[1])

    @property
    def most_memory(self) -> int:
        """The most bytes that its container held, as the limit counts them."""
        return int(_read(self.group, _MOST))

    @property
    def pid(self) -> int:
        """The id of its process, as this process sees it."""
        return int((self.group / "cgroup.procs").read_text().split()[0])

    def send(self, number: int) -> None:
        """Send its process a signal."""
        os.kill(self.pid, number)

    def memory(self) -> dict[str, int]:
        """What the kernel says of its process's memory, in KiB: VmRSS is what it holds, VmHWM the most it held."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return {line.split()[0].rstrip(":"): int(line.split()[1]) for line in lines if line.startswith("Vm")}


# As control groups of version 1 and of version 2 call them.
_NOW = ("memory.usage_in_bytes", "memory.current")
_MOST = ("memory.max_usage_in_bytes", "memory.peak")
_EVENTS = ("memory.oom_control", "memory.events")


def _read(group: Path, names: Iterable[str]) -> str:
    (found,) = [group / name for name in names if (group / name).exists()]
    return found.read_text()


def server_pods(cluster: Cluster) -> list[ServerPod]:
    """The webhook's pods that are ready and not being deleted, by name."""
    return [
        ServerPod(cluster, pod["metadata"]["name"], pod["metadata"]["uid"], pod["status"]["podIP"])
        for pod in _pods(cluster)
        if met(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]
    ]


def wait_servers(cluster: Cluster, count: int, holds: Callable[[ServerPod], bool] = lambda _: True) -> list[ServerPod]:
    """Wait until `count` pods exist, all are ready, none is being deleted, and each fulfils a condition."""

    def reached() -> list[ServerPod]:
        found = server_pods(cluster) if len(_pods(cluster)) == count else []
        return found if len(found) == count and all(map(holds, found)) else []

    return wait_for(f"{count} servers", reached, every=0.25)


def _pods(cluster: Cluster) -> list[Object]:
    return cluster.api.items(f"{PODS}?labelSelector=app={product.NAME}")
