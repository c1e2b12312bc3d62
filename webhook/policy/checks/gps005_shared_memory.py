"""A mount at `/dev/shm` hides the MPS daemon's.

Reads: `volumeMounts` of containers that request a replica.
Why: the device plugin mounts the MPS daemon's shared memory at `/dev/shm`. A volume that the pod mounts at the same
path hides it. Clients on GPUs older than Volta need the daemon's shared memory. Where nothing mounts that memory, as
on GKE, the profile turns the check off.
Remedy: remove the mount. It is usually there to give PyTorch's workers enough shared memory, which the daemon's mount
provides as well: half of the node's memory, shared by all MPS pods of the node (64 MiB in v0.15 of the plugin).
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import message

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container


def run(context: PodContext) -> Violations:
    """One violation per container with such a mount."""
    return (
        Violation(
            (*request.container.path, "volumeMounts", request.container.mounts[_SHARED_MEMORY], "mountPath"),
            message(
                f"{request.container.kind} {{}} mounts a volume at /dev/shm, which hides the MPS daemon's",
                request.container.label,
            ),
            "remove the mount; the device plugin mounts the daemon's /dev/shm",
        )
        for request in context.first_mps_requests
        if _SHARED_MEMORY in request.container.mounts
    )


CHECK = Check("GPS005", Severity.WARN, Scope.MPS, run, __doc__)
