"""The mount of the pipe directory, in the containers that get the variable.

Adds: a hostPath volume for `<MPS root>/<resource>/pipe`, mounted at `/mps/<resource>/pipe`, and the volume's name in
the annotation `cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`: otherwise the autoscaler never removes a
node with a pod that has local storage.
Why: the client meets the daemon through this directory. The plugin mounts the same; both together are harmless.
Not when: the variable would not be injected; the path is already mounted; the namespace does not allow hostPath
(GPS012 warns).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from webhook.policy.case import Case
from webhook.policy.demand import Ask
from webhook.policy.injection import Injection
from webhook.policy.injections.pipe_directory import due
from webhook.policy.pipe import VARIABLE, Pipe
from webhook.policy.pod import text
from webhook.policy.verdict import Append, Edit, Extend

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_STEM = 58
"""Letters of a volume's name that leave room for a number."""


def unmounted(case: Case) -> list[Ask]:
    """The asks of containers that should have the pipe directory mounted and have not."""
    if not case.mps or not case.rules.settings.injections.pipe_mount.enabled:
        return []
    pipes = case.rules.pipes
    return [ask for ask in due(case) if pipes[ask.resource.name].clean not in ask.container.mounts]


def run(case: Case) -> Sequence[Edit]:
    """Volumes, mounts and the annotation."""
    # The last hook cannot know on which path `/mutate` was called, so where nothing tells, it does not miss the mount.
    if not case.mps or not case.hostpath_allowed():
        return ()
    settings = case.rules.settings.injections.pipe_mount
    volumes: dict[str, str] = {}
    edits: list[Edit] = []
    for ask in unmounted(case):
        if VARIABLE in ask.container.variables:
            continue
        pipe = case.rules.pipes[ask.resource.name]
        if pipe.volume not in volumes:
            volumes[pipe.volume] = _volume(case, pipe, edits)
        mount: dict[str, Any] = {"name": volumes[pipe.volume], "mountPath": pipe.path}
        if settings.read_only:
            mount["readOnly"] = True
        edits.append(Append((*ask.container.path, "volumeMounts"), mount))
    if volumes and settings.safe_to_evict:
        edits.extend(_safe_to_evict(case, volumes.values()))
    return edits


def _volume(case: Case, pipe: Pipe, edits: list[Edit]) -> str:
    """The name of the pod's volume with the directory; an edit makes it when there is none."""
    there = {volume.get("name"): volume for volume in case.pod.elements("volumes")}
    name = pipe.volume
    number = 1
    while name in there and there[name].get("hostPath") != pipe.source:
        number += 1
        name = f"{pipe.volume[:_STEM]}-{number}"
    if name not in there:
        edits.append(Append((*case.pod.spec_path, "volumes"), {"name": name, "hostPath": pipe.source}))
    return name


def _safe_to_evict(case: Case, names: Iterable[str]) -> list[Edit]:
    path = (*case.pod.metadata_path, "annotations")
    listed = [name.strip() for name in text(case.pod.annotations, SAFE_TO_EVICT, path).split(",")]
    return [Extend((*path, SAFE_TO_EVICT), name) for name in names if name not in listed]


INJECTION = Injection("pipeMount", run, __doc__)
