"""A mount hides the MPS daemon's `/dev/shm`."""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.placement.selector import Expression
from webhook.policy.settings.settings import Resource
from webhook.policy.verdict import Severity, Violation, Violations, message

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container

_REMOVE = "remove the mount; the device plugin mounts the daemon's /dev/shm"
_SET = "set plasma-directory: /tmp in rayStartParams; KubeRay 1.6 and later then mounts nothing"


def run(context: PodContext) -> Violations:
    """One violation per container with such a mount, or with one that KubeRay adds to it.

    GKE's plugin mounts nothing there. Volta's clients and newer ones do without the daemon's memory (measured), while
    the page-locked memory of older ones comes from it (docs.nvidia.com/deploy/mps/when-to-use-mps.html, Limitations).
    """
    if context.is_on_gke:
        return
    extracted = context.extracted
    adds_mount = extracted.place.hides_shared_memory(extracted.manifest, extracted.path)
    for request in context.first_mps_requests:
        container, least = request.container, _least(context, request.resource)
        if least is None:
            continue
        is_added = adds_mount and container.path == (*context.pod.spec_path, "containers", 0)
        if _SHARED_MEMORY in container.mounts:
            path = (*container.path, "volumeMounts", container.mounts[_SHARED_MEMORY], "mountPath")
            problem = about(container, "mounts a volume over the MPS daemon's /dev/shm")
            yield Violation(path, problem, f"remove the mount and {_SET}" if is_added else _REMOVE, least=least)
        elif is_added:
            template = f"KubeRay mounts a volume over the MPS daemon's /dev/shm in {container.kind} {{}}"
            yield Violation(container.path, message(template, container.label), _SET, least=least)


def _least(context: PodContext, resource: Resource) -> Severity | None:
    """The severity where nothing sets it: by the oldest of the cards that the pod could get; None if all are new."""
    cluster, index = context.placement.cluster, context.placement.cluster.index
    nodes = context.placement.sharing("mps", resource)
    older, newer = index.holding(_CAPABILITY, _OLDER), index.holding(_CAPABILITY, _NEWER)  # nodes may be in both
    if nodes & older & ~newer:
        return Severity.WARN
    return None if cluster.known and nodes and not nodes & ~(newer & ~older) else Severity.AUDIT


_CAPABILITY = "nvidia.com/gpu.compute.major"
"""The label of GPU feature discovery with the major version of the compute capability, which is 7 for Volta."""

_OLDER = Expression(_CAPABILITY, "Lt", ("7",)).constraint
_NEWER = Expression(_CAPABILITY, "Gt", ("6",)).constraint
