"""An own mount at `/dev/shm` hides the daemon's.

Reads: `volumeMounts` of containers that ask for a replica.
Why: the device plugin mounts the MPS daemon's shared memory at `/dev/shm`, half of the node's memory large. A volume of
the pod at the same path lies on top of it. Clients on cards older than Volta need the daemon's.
Remedy: leave the mount out; what it is usually there for, room for PyTorch's workers, the daemon's mount gives too.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container


def run(context: PodContext) -> Claims:
    """One claim a container with such a mount."""
    return (
        Claim(
            (*ask.container.path, "volumeMounts", ask.container.mounts[_SHARED_MEMORY], "mountPath"),
            message(
                f"{ask.container.kind} {{}} mounts its own /dev/shm and hides the MPS daemon's", ask.container.name
            ),
            "leave the mount out; the device plugin mounts the daemon's there",
        )
        for ask in context.first_asks
        if _SHARED_MEMORY in ask.container.mounts
    )


CHECK = Check("GPS005", Severity.WARN, Scope.MPS, run, __doc__)
