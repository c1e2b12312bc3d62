"""A fault of a pod or workload, and the cause that `why` must name first.

Each fault has a Kubernetes namespace of its own. `produce` creates its objects, and `shows` says whether the cluster
already shows the fault, so that many faults are produced at once and awaited together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.manifests import pod
from tests.cluster.harness.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

    Shows = Callable[[Workspace], object]

_GROUPS = {
    "Deployment": ("/apis/apps/v1", "deployments"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "Job": ("/apis/batch/v1", "jobs"),
    "LimitRange": ("/api/v1", "limitranges"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Pod": ("/api/v1", "pods"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """A fault, and the cause that is expected first.

    `why` is asked about the object `main` of a `kind`, and with `logs` it reads the log. `state` names the state of the
    cluster in which the fault is produced. `labels` are those of its namespace. A `recorded` fault needs a GPU or the
    pressure of other programs, so that it shows texts recorded elsewhere. `then` is done when all objects are created.
    """

    name: str
    expected: str
    objects: tuple[Object, ...]
    shows: Shows
    kind: str = "pod"
    logs: bool = False
    state: str = "usual"
    labels: Mapping[str, str] = field(default_factory=dict)
    recorded: bool = False
    then: Callable[[Workspace], None] | None = None

    def produce(self, cluster: Cluster) -> Workspace:
        """Create the namespace and the objects of the fault; `shows` holds a moment later."""
        cluster.api.create_namespace(self.name, self.labels)
        for manifest in self.objects:
            cluster.api.create(_collection(manifest["kind"], self.name), manifest)
        space = Workspace(cluster, self.name)
        if self.then is not None:
            self.then(space)
        return space


def _collection(kind: str, namespace: str) -> str:
    group, plural = _GROUPS[kind]
    return f"{group}/namespaces/{namespace}/{plural}"


def of_pod(name: str, expected: str, shows: Shows, *containers: Object, **spec: Any) -> Fault:
    """A fault of one pod, `main`."""
    return Fault(name, expected, (pod("main", *containers, **spec),), shows)


def event(reason: str, text: str = "") -> Shows:
    """An event in the namespace, with a text in its message."""

    def shows(space: Workspace) -> object:
        events = space.api.items(f"/api/v1/namespaces/{space.name}/events")
        return any(one["reason"] == reason and text in one.get("message", "") for one in events)

    return shows


def unscheduled(text: str) -> Shows:
    """A pod that the scheduler finds no node for, with a text in its reason."""

    def is_unscheduled(found: Object) -> bool:
        conditions = found["status"].get("conditions") or ()
        waiting = [one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"]
        return any(text in one.get("message", "") for one in waiting)

    return _any_pod(is_unscheduled)


def phase(name: str, reason: str = "", text: str = "") -> Shows:
    """A pod in a phase, with a reason, and a text in its message."""

    def is_there(found: Object) -> bool:
        status = found["status"]
        return bool(
            status.get("phase") == name
            and reason in (status.get("reason", ""), "")
            and text in status.get("message", "")
        )

    return _any_pod(is_there)


def waiting(*reasons: str) -> Shows:
    """A container that waits for one of these reasons."""
    return _any_state(lambda one: one.get("state", {}).get("waiting", {}).get("reason") in reasons)


def ended(reason: str) -> Shows:
    """A container that has ended for this reason, or whose predecessor has."""

    def has_ended(one: Object) -> bool:
        states = (one.get("state", {}), one.get("lastState", {}))
        return any(state.get("terminated", {}).get("reason") == reason for state in states)

    return _any_state(has_ended)


def restarted(space: Workspace) -> object:
    """A container that has been started again after its predecessor ended."""
    return _any_state(lambda one: one.get("restartCount", 0) > 0 and "terminated" in one.get("lastState", {}))(space)


def deleted(space: Workspace) -> object:
    """A pod that is being deleted."""
    return _any_pod(lambda found: "deletionTimestamp" in found["metadata"])(space)


def running(space: Workspace) -> object:
    """All pods of the namespace run, and there are some."""
    pods = space.api.items(space.pods)
    return bool(pods) and all(
        one["status"].get("phase") == "Running" and all(each["ready"] for each in one["status"]["containerStatuses"])
        for one in pods
    )


def observed(space: Workspace) -> object:
    """The controller of the Deployment `main` has seen it."""
    found = space.api.get(f"{_collection('Deployment', space.name)}/main")
    return found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]


def both(*conditions: Shows) -> Shows:
    """All of these conditions."""
    return lambda space: all(one(space) for one in conditions)


def _any_pod(holds: Callable[[Object], bool]) -> Shows:
    return lambda space: any(holds(one) for one in space.api.items(space.pods))


def _any_state(holds: Callable[[Object], bool]) -> Shows:
    def is_there(found: Object) -> bool:
        status = found["status"]
        states = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
        return any(map(holds, states))

    return _any_pod(is_there)
