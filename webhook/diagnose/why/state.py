"""The state of a pod and its containers, how many pods a workload has and wants, and the events of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from heapq import nlargest
from operator import attrgetter
from typing import Final, NamedTuple

from webhook.cluster.objects import EVENT, Objects
from webhook.cluster.reading import FINISHED, Object, Owner, condition, controller, entries, is_true, number, part, word


def name_of(found: Object | None) -> str:
    """The name of an object."""
    return word(found, "metadata", "name")


def owner_of(found: Object | None) -> Owner:
    """The owner that controls an object; an empty one without any."""
    return controller(part(found, "metadata")) or Owner("", "")


# Containers and pods.


class ContainerState(NamedTuple):
    """A container with its present state and the end of its predecessor. Mappings are empty where they do not apply."""

    name: str
    is_init: bool
    waiting: Object
    running: Object
    ended: Object
    ended_before: Object
    restarts: int
    ready: bool

    @property
    def failure(self) -> Object:
        """How it ended last, if it failed: with an exit code other than 0."""
        last = self.ended or self.ended_before
        return last if number(last, "exitCode") != 0 else {}


def containers(pod: Object | None) -> Iterator[ContainerState]:
    """The init containers of a pod, then its containers, as far as the kubelet knows them."""
    for key in ("initContainerStatuses", "containerStatuses"):
        for one in entries(pod, "status", key):
            state = part(one, "state")
            yield ContainerState(
                word(one, "name"),
                key.startswith("init"),
                part(state, "waiting"),
                part(state, "running"),
                part(state, "terminated"),
                part(one, "lastState", "terminated"),
                number(one, "restartCount"),
                one.get("ready") is True,
            )


def phase(pod: Object) -> str:
    """The phase of a pod; empty where it is unknown."""
    return word(pod, "status", "phase")


def node_name(pod: Object | None) -> str:
    """The node that a pod is bound to; empty for none."""
    return word(pod, "spec", "nodeName")


def is_unscheduled(pod: Object) -> bool:
    """Whether a pod waits for a node."""
    return phase(pod) in ("", "Pending") and not node_name(pod)


def is_gated(pod: Object) -> bool:
    """Whether the scheduler does not try a pod: gates hold it, or it waits for the other pods of its gang."""
    return bool(entries(pod, "spec", "schedulingGates")) or waits_for_gang(pod)


def waits_for_gang(pod: Object) -> bool:
    """Whether the scheduler waits for a PodGroup, or its pods (kubernetes pkg/scheduler plugin GangScheduling)."""
    in_group = bool(word(pod, "spec", "schedulingGroup", "podGroupName"))
    return in_group and word(condition(pod, "PodScheduled"), "reason") == "SchedulingGated"


def is_finished(pod: Object) -> bool:
    """Whether a pod has ended."""
    return phase(pod) in FINISHED


def has_started(pod: Object) -> bool:
    """Whether all containers run, or have run."""
    states = list(containers(pod))
    return bool(states) and all(one.running or one.ended or one.ended_before for one in states)


def is_well(pod: Object) -> bool:
    """Whether a pod has succeeded, or runs and is ready."""
    return phase(pod) == "Succeeded" or (phase(pod) == "Running" and is_true(pod, "Ready"))


def state(pod: Object) -> str:
    """The state in a word, as kubectl shows it (kubernetes pkg/printers/internalversion/printers.go `printPod`)."""
    if word(pod, "metadata", "deletionTimestamp"):
        return "Terminating"
    if reason := word(pod, "status", "reason"):
        return reason
    for one in containers(pod):
        reason = word(one.waiting, "reason") or ("" if one.is_init else word(one.ended, "reason"))
        if reason and reason not in ("PodInitializing", "Completed"):
            return reason
        if one.is_init and number(one.ended, "exitCode"):
            return word(one.ended, "reason") or "Error"
    if word(condition(pod, "PodScheduled"), "reason") == "SchedulingGated":
        return "SchedulingGated"
    return phase(pod) or "Unknown"


# Workloads.

_READY: Final = {
    "Deployment": "availableReplicas",
    "ReplicaSet": "readyReplicas",
    "StatefulSet": "readyReplicas",
    "DaemonSet": "numberReady",
}


def wanted(kind: str, found: Object) -> int:
    """The pods that a workload wants at a time."""
    if kind == "DaemonSet":
        return number(found, "status", "desiredNumberScheduled")
    return number(found, "spec", "parallelism" if kind == "Job" else "replicas", default=1)


def ready(kind: str, found: Object) -> int:
    """The pods of a workload that are ready."""
    return number(found, "status", _READY.get(kind, "ready"))


def has_all(kind: str, found: Object) -> bool:
    """Whether a workload has all the pods that it wants, or is complete."""
    if kind in ("Job", "CronJob"):
        return kind == "CronJob" or is_true(found, "Complete")
    return ready(kind, found) >= wanted(kind, found)


_PERCENT: Final = re.compile(r"(\d{1,3})%", re.ASCII)


def keeps_old(deployment: Object) -> bool:
    """Whether a rollout ends no old pod before a new one is ready: `maxUnavailable` is 0, or rounded down to 0."""
    strategy = part(deployment, "spec", "strategy")
    bounds = part(strategy, "rollingUpdate")
    surge, most = bounds.get("maxSurge", "25%"), bounds.get("maxUnavailable", "25%")
    if percent := _PERCENT.fullmatch(str(most)):
        most = wanted("Deployment", deployment) * int(percent[1]) // 100
    return word(strategy, "type") != "Recreate" and most == 0 and surge not in (0, "0%")


# Events.

MOST: Final = 100
"""Events of one object that are kept: the newest."""


class Event(NamedTuple):
    """An event; without a reason, there is none. `when` is the time at which it was seen last, as text that sorts."""

    reason: str = ""
    message: str = ""
    when: str = ""
    times: int = 0
    source: str = ""

    def __str__(self) -> str:
        often = f" ({self.times} times)" if self.times > 1 else ""
        return f"event {self.reason}{often}: {self.message}" if self else ""

    def __bool__(self) -> bool:
        return bool(self.reason)


_TIMES: Final = (
    ("series", "lastObservedTime"),
    ("lastTimestamp",),
    ("deprecatedLastTimestamp",),
    ("eventTime",),
    ("metadata", "creationTimestamp"),
)
_COUNTS: Final = (("series", "count"), ("count",), ("deprecatedCount",))


def event(found: Object) -> Event:
    """Read an event of core/v1 or events.k8s.io/v1."""
    return Event(
        word(found, "reason"),
        word(found, "message") or word(found, "note"),
        max(word(found, *path)[:19] for path in _TIMES),  # to the second: the sources write fractions or none
        max(number(found, *path) for path in _COUNTS),
        word(found, "source", "component") or word(found, "reportingComponent") or word(found, "reportingController"),
    )


async def events_of(objects: Objects, about: Object, kind: str) -> list[Event]:
    """Read the newest events of an object."""
    namespace, name, uid = (word(about, "metadata", key) for key in ("namespace", "name", "uid"))
    found: list[Event] = []
    async for page in objects.pages(EVENT, namespace, fieldSelector=f"involvedObject.name={name}"):
        for one in page:
            of = part(one, "involvedObject") or part(one, "regarding")
            # An earlier object of the same name has another uid.
            if (word(of, "kind"), word(of, "name")) == (kind, name) and (not uid or word(of, "uid") in (uid, "")):
                found.append(event(one))
        found = newest(found)
    return found


def newest(found: Iterable[Event]) -> list[Event]:
    """The newest of events, in order."""
    return nlargest(MOST, found, key=attrgetter("when"))
