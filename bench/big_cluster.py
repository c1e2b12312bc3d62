"""A real API server with thousands of GPU nodes and namespaces, and changes of its nodes at a steady rate.

Only etcd and the API server run: the nodes are objects, and no controller reacts to them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from itertools import count, cycle
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from bench.machine import Machine
from tests.cluster.harness.api import Api
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback

NODES_PATH = "/api/v1/nodes"
NAMESPACES_PATH = "/api/v1/namespaces"
CLASSES_PATH = "/apis/node.k8s.io/v1/runtimeclasses"
GPU = "nvidia.com/gpu"

_WRITERS = 8
_FILLING = 600
"""Seconds after which filling the cluster fails."""

_LOW_PRIORITY = 15

_FEATURES = 44
"""Labels of node feature discovery; with the others, a node has 60."""

_IMAGES = 50
"""Images of a node. With these, a stored node has about 15 KB."""


class ClusterError(Exception):
    """The API server rejects an object or a change; the message is its answer."""


@dataclass(frozen=True, slots=True)
class BigCluster:
    """The API server, the numbers of its objects, the size of a stored node, and the seconds that filling it took."""

    running: ControlPlaneOnly
    nodes: int
    namespaces: int
    node_size: int
    filled: float

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig with all rights."""
        return self.running.control.kubeconfigs["admin"]


@contextmanager
def big_cluster(machine: Machine, nodes: int, namespaces: int) -> Iterator[BigCluster]:
    """Start etcd and an API server on the load's core, and fill them. Raises ToolsMissingError and ClusterError."""
    # Without a node controller, nothing would remove the taint of nodes that are not ready yet.
    options = ControlPlaneOptions(api_server_flags=("--disable-admission-plugins=TaintNodesByCondition",))
    with control_plane(options, place=Loopback) as running:
        processes = running.control.processes
        for name in ("controller-manager", "scheduler"):
            processes[name].stop()
        began = time.monotonic()
        _store(running.api, [(CLASSES_PATH, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})])
        _store(running.api, ((NAMESPACES_PATH, namespace_object(number)) for number in range(namespaces)))
        _store(running.api, ((NODES_PATH, node_object(number)) for number in range(nodes)))
        took = time.monotonic() - began
        for name in ("etcd", "api-server"):
            _give_way(processes[name].pid, machine.load)
        size = len(json.dumps(running.api.get(f"{NODES_PATH}/{node_name(0)}"), separators=(",", ":")))
        yield BigCluster(running, nodes, namespaces, size, took)


def node_name(number: int) -> str:
    """The name of a node."""
    return f"gpu-{number:05}"


def _give_way(process: int, core: int) -> None:
    """Keep all threads of a process on one core, and let other processes there go first. New threads inherit both.

    Otherwise the latencies include the time for which the API server keeps the load generator from reading an answer.
    """
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})
        os.setpriority(os.PRIO_PROCESS, int(thread.name), _LOW_PRIORITY)


def _store(api: Api, objects: Iterable[tuple[str, Any]]) -> None:
    """Create objects over several connections. Raises ClusterError and TimeoutError."""
    waiting: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    for one in objects:
        waiting.put(one)
    deadline = time.monotonic() + _FILLING
    with ThreadPoolExecutor(_WRITERS) as pool:
        for written in [pool.submit(_write, api, waiting, deadline) for _ in range(_WRITERS)]:
            written.result()


def _write(api: Api, waiting: SimpleQueue[tuple[str, Any]], deadline: float) -> None:
    connection = api.connection()
    try:
        while time.monotonic() < deadline:
            path, body = waiting.get_nowait()
            _send(connection, api, "POST", path, body)
    except Empty:
        return
    finally:
        connection.close()
    raise TimeoutError(f"the cluster is not filled after {_FILLING} s")


def _send(connection: HTTPSConnection, api: Api, method: str, path: str, body: Any, content: str = "json") -> None:
    connection.request(method, path, json.dumps(body), api.headers(content))
    answer = connection.getresponse()
    text = answer.read()
    if answer.status > 299:
        raise ClusterError(f"{answer.status}: {text[:300].decode(errors='replace')}")


@dataclass(slots=True)
class Changes:
    """Changes of nodes: how many were made, and how many seconds they took."""

    made: int = 0
    seconds: float = 0


@contextmanager
def changing(cluster: BigCluster, rate: float) -> Iterator[Changes]:
    """Change the label of `rate` nodes a second, one after the other, until the context ends. Raises ClusterError."""
    done, changes, failures = Event(), Changes(), []

    def change() -> None:
        connection = cluster.running.api.connection()
        began = time.monotonic()
        try:
            for number, node in zip(count(1), cycle(range(cluster.nodes))):
                if done.wait(max(0.0, began + number / rate - time.monotonic())):
                    return
                body = {"metadata": {"labels": {"bench": str(number)}}}
                path = f"{NODES_PATH}/{node_name(node)}"
                _send(connection, cluster.running.api, "PATCH", path, body, "merge-patch+json")
                changes.made, changes.seconds = number, time.monotonic() - began
        except (OSError, ClusterError) as problem:
            failures.append(problem)
        finally:
            connection.close()

    writer = Thread(target=change, daemon=True)
    writer.start()
    try:
        yield changes
    finally:
        done.set()
        writer.join(30)
    if failures:
        raise ClusterError(f"a node could not be changed: {failures[0]}")


def namespace_object(number: int) -> Any:
    """A namespace. The first one is that of the recorded reviews."""
    name = f"team-{number}" if number else "team-a"  # the recorded reviews are from team-a
    labels = {"pod-security.kubernetes.io/enforce": "privileged", "team": name, "tier": f"tier-{number % 5}"}
    return {"metadata": {"name": name, "labels": labels}}


def node_object(number: int) -> Any:
    """A GPU node with 60 labels. One in three is an MPS node, one in three time-slices, the others have whole cards."""
    name, strategy = node_name(number), ("mps", "time-slicing", "none")[number % 3]
    units = "8" if strategy == "none" else "80"
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": f"gpu-{number % 4}",
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.family": "ampere",
        "nvidia.com/gpu.memory": "81920",
        "nvidia.com/gpu.product": "A100" + ("-SHARED" if strategy != "none" else ""),
        "nvidia.com/gpu.replicas": "1" if strategy == "none" else "10",
        "nvidia.com/gpu.sharing-strategy": strategy,
        "nvidia.com/mps.capable": str(strategy == "mps").lower(),
        "nvidia.com/cuda.driver.major": "570",
        "bench": "0",
        **{f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{feature:02}": "true" for feature in range(_FEATURES)},
    }
    room = {"cpu": "128", "memory": "1Ti", "pods": "110", GPU: units}
    images = [
        {"names": [f"registry.example.test/team-{image:02}/image@sha256:{image:064}"], "sizeBytes": 10**9 + image}
        for image in range(_IMAGES)
    ]
    return {
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {f"example.test/note-{n}": "x" * 60 for n in range(8)},
        },
        "spec": {"taints": [{"key": GPU, "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"},
        "status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
            "images": images,
        },
    }
