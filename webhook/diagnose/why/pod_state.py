"""The state of a pod and of its containers, by its status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webhook.cluster.reading import FINISHED, Object, condition, entries, is_true, number, part, word


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
            state, last = part(one, "state"), part(one, "lastState")
            yield ContainerState(
                word(one, "name"),
                key.startswith("init"),
                part(state, "waiting"),
                part(state, "running"),
                part(state, "terminated"),
                part(last, "terminated"),
                number(one, "restartCount"),
                one.get("ready") is True,
            )


def phase(pod: Object) -> str:
    """The phase of a pod; empty where it is unknown."""
    return word(pod, "status", "phase")


def node_name(pod: Object) -> str:
    """The node that a pod is bound to; empty for none."""
    return word(pod, "spec", "nodeName")


def is_unscheduled(pod: Object) -> bool:
    """Whether a pod waits for a node."""
    return phase(pod) in ("", "Pending") and not node_name(pod)


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
