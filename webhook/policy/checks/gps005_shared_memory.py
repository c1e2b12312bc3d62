"""A mount hides the MPS daemon's `/dev/shm`."""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.verdict import Violation, Violations, message

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container
_GKE = "cloud.google.com/gke-"
"""The prefix of the labels of GKE's nodes."""

_REMOVE = "remove the mount; the device plugin mounts the daemon's /dev/shm"
_SET = "set plasma-directory: /tmp in rayStartParams; KubeRay 1.6 and later then mounts nothing"


def run(context: PodContext) -> Violations:
    """One violation per container with such a mount, or with one that KubeRay adds to it."""
    if _requires_gke(context):
        return
    extracted = context.extracted
    adds_mount = extracted.place.hides_shared_memory(extracted.manifest, extracted.path)
    for request in context.first_mps_requests:
        container = request.container
        is_added = adds_mount and container.path == (*context.pod.spec_path, "containers", 0)
        if _SHARED_MEMORY in container.mounts:
            path = (*container.path, "volumeMounts", container.mounts[_SHARED_MEMORY], "mountPath")
            problem = about(container, "mounts a volume over the MPS daemon's /dev/shm")
            yield Violation(path, problem, f"remove the mount and {_SET}" if is_added else _REMOVE)
        elif is_added:
            template = f"KubeRay mounts a volume over the MPS daemon's /dev/shm in {container.kind} {{}}"
            yield Violation(container.path, message(template, container.label), _SET)


def _requires_gke(context: PodContext) -> bool:
    """Whether a pod of a cluster that nothing describes requires a label of GKE, whose plugin mounts nothing there."""
    required = context.placement.requirement
    if required is None or not context.policy.trusts_markers:
        return False
    return any(key.startswith(_GKE) for key in required.selector) or (
        required.terms is not None
        and all(
            any(key.startswith(_GKE) and not constraint.absent for key, constraint in term.items())
            for term in required.terms
        )
    )
