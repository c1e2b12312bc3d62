"""The Kubernetes namespace of one test: it creates objects, waits for pods, and inspects containers."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of a container's mountinfo: what part of its file system is mounted where, and how."""

    root: str
    target: str
    options: tuple[str, ...]
    kind: str


class Workspace:
    """One Kubernetes namespace; objects without a namespace go there."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.api = cluster.api
        self.pods = f"/api/v1/namespaces/{name}/pods"

    def kubectl(self, *arguments: str, manifest: Object | str = "") -> str:
        """kubectl in this namespace. Raises `RuntimeError` when it fails."""
        return self.cluster.kubectl("--namespace", self.name, *arguments, manifest=manifest)

    def run(self, *arguments: str, manifest: Object | str = "") -> subprocess.CompletedProcess[str]:
        """The result of kubectl in this namespace, whatever the exit status."""
        return self.cluster.kubectl.run("--namespace", self.name, *arguments, manifest=manifest)

    def create(self, manifest: Object) -> Object:
        """Create an object of any kind with kubectl; returns it as stored."""
        self.kubectl("create", "-f", "-", manifest=manifest)
        name, kind = manifest["metadata"]["name"], manifest["kind"]
        return self.stored(kind, name)

    def stored(self, kind: str, name: str) -> Object:
        """An object as it is stored now."""
        found: Object = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def start(self, pod: Object) -> Object:
        """Create a pod and wait until its containers run; returns it as it is then."""
        self.api.create(self.pods, pod)
        return self.wait_running(pod["metadata"]["name"])

    def wait_running(self, name: str) -> Object:
        """Wait until a pod's containers run."""

        def running(pod: Object) -> bool:
            states = pod["status"].get("containerStatuses", [])
            return pod["status"].get("phase") == "Running" and all(state.get("started") for state in states)

        return self.wait_pod(name, "to run", running)

    def wait_bound(self, name: str) -> Object:
        """Wait until the scheduler has bound a pod."""
        return self.wait_pod(name, "to be bound", lambda pod: pod["spec"].get("nodeName"))

    def wait_failed(self, name: str) -> Object:
        """Wait until a pod has failed."""
        return self.wait_pod(name, "to fail", lambda pod: pod["status"].get("phase") == "Failed")

    def failed(self) -> list[Object]:
        """The pods that have failed."""
        return self.api.items(f"{self.pods}?fieldSelector=status.phase=Failed")

    def wait_pod(self, name: str, what: str, condition: Any, *, seconds: float = 180) -> Object:
        """Wait until a pod fulfils a condition."""
        return self.api.wait_for(f"{self.pods}/{name}", what, condition, seconds=seconds)

    def wait_event(self, name: str, reason: str) -> Object:
        """Wait for an event about the object `name`."""
        path = f"/api/v1/namespaces/{self.name}/events?fieldSelector=involvedObject.name={name},reason={reason}"
        return wait_for(f"event {reason} of {name}", lambda: self.api.items(path))[0]

    def sh(self, pod: str, script: str, *, container: str = "main") -> str:
        """Run a shell script in a container and return its output. Raises `RuntimeError` when it fails."""
        return self.kubectl("exec", pod, f"--container={container}", "--", "sh", "-c", script)

    def environment(self, pod: str, *, container: str = "main") -> list[str]:
        """The environment that the container's first process was started with, entry by entry."""
        return self.sh(pod, "cat /proc/1/environ", container=container).rstrip("\0").split("\0")

    def mounts(self, pod: str, target: str, *, container: str = "main") -> list[Mount]:
        """What is mounted at a path of a container, the lowest first."""
        lines = [line.split() for line in self.sh(pod, "cat /proc/1/mountinfo", container=container).splitlines()]
        found = [Mount(at[3], at[4], tuple(at[5].split(",")), at[at.index("-") + 1]) for at in lines]
        return [mount for mount in found if mount.target == target]


@contextmanager
def workspace(cluster: Cluster, title: str) -> Iterator[Workspace]:
    """A new namespace named after a test; at the end its pods, which hold GPUs, are gone."""
    digest = hashlib.sha256(title.encode()).hexdigest()[:6]
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:50].strip("-") + "-" + digest
    path = cluster.api.create_namespace(name)
    space = Workspace(cluster, name)
    try:
        yield space
    finally:
        # No pod can be created in a namespace that is being deleted; its own controller would wait for five seconds.
        cluster.api.delete(path)
        cluster.api.delete(space.pods)
        wait_for(f"the pods of {name} to be gone", lambda: not cluster.api.items(space.pods))
