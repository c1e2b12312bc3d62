"""The mount of the pipe directory, in the containers that get the variable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import NO_SHARE, OFF, Injection
from webhook.policy.injections.pipe_directory import ELSEWHERE, needing_pipe
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.policy.pods.reading import text
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.snapshot import MpsPipeDirectory
from webhook.policy.verdict import Append, Edit, Extend

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_STEM = 58
"""Characters of a volume's name that leave room for a number."""


def unmounted(context: PodContext) -> list[ResourceRequest]:
    """The requests of containers that need the mount of the pipe directory and do not have it."""
    if not context.mps_requests or not context.policy.injections.pipe_mount.enabled:
        return []
    pipes = context.policy.pipes
    return [
        request
        for request in needing_pipe(context)
        if pipes[request.resource.name].clean not in request.container.mounts
    ]


def why_not(context: PodContext) -> str | None:
    """Why nothing is mounted."""
    if not context.policy.injections.pipe_mount.enabled:
        return OFF
    if not context.mps_requests:
        return NO_SHARE
    # `/validate` does not know the path on which `/mutate` was called, so None does not count as a missing mount.
    if not context.hostpath_allowed():
        return _NO_HOST_PATH
    return None if needing_pipe(context) else ELSEWHERE


_NO_HOST_PATH = "the namespace does not allow hostPath volumes"


def edits(context: PodContext) -> Iterator[Edit]:
    """Volumes, mounts and the annotation."""
    settings = context.policy.injections.pipe_mount
    volumes: dict[str, str] = {}
    for request in unmounted(context):
        if PIPE_DIRECTORY in request.container.variables:
            continue
        pipe = context.policy.pipes[request.resource.name]
        if pipe.volume not in volumes:
            volumes[pipe.volume], missing = _volume(context, pipe)
            yield from missing
        mount: dict[str, Any] = {"name": volumes[pipe.volume], "mountPath": pipe.path}
        if settings.read_only:
            mount["readOnly"] = True
        yield Append((*request.container.path, "volumeMounts"), mount)
    if volumes and settings.safe_to_evict:
        path = (*context.pod.metadata_path, "annotations")
        listed = {name.strip() for name in text(context.pod.annotations, SAFE_TO_EVICT, path).split(",")}
        yield from (Extend((*path, SAFE_TO_EVICT), name) for name in volumes.values() if name not in listed)


def _volume(context: PodContext, pipe: MpsPipeDirectory) -> tuple[str, Sequence[Edit]]:
    """The name of the pod's volume with the directory, and the edit that adds it if there is none."""
    name = pipe.volume
    number = 1
    while (there := context.pod.volume(name)) is not None:
        if there.get("hostPath") == pipe.source:
            return name, ()
        number += 1
        name = f"{pipe.volume[:_STEM]}-{number}"
    return name, (Append((*context.pod.spec_path, "volumes"), {"name": name, "hostPath": pipe.source}),)


INJECTION = Injection(
    "pipeMount",
    why_not,
    edits,
    (OFF, NO_SHARE, _NO_HOST_PATH, ELSEWHERE),
    "The mount of the pipe directory, in the containers that get the variable",
)
