"""A mount at `/dev/shm` hides the MPS daemon's.

Reads: `volumeMounts` of containers that request a replica; of KubeRay's kinds, `rayStartParams` too.

Why: the device plugin mounts the MPS daemon's shared memory at `/dev/shm`. A volume that the pod mounts at the same
path hides it. Clients on GPUs older than Volta need the daemon's shared memory.

KubeRay mounts a volume in memory at `/dev/shm` in the first container of each head and worker, for the objects of Ray,
although the template shows no such mount. It does not if the container mounts a volume there itself or, from v1.6 on,
if `rayStartParams` sets `plasma-directory`.

Exceptions: where nothing mounts the daemon's shared memory, as on GKE and with a daemon on the host, the profile turns
the check off.

Remedy: remove the mount. It is usually there to give PyTorch's workers enough shared memory, which the daemon's mount
provides as well: half of the node's memory, shared by all MPS pods of the node (64 MiB in v0.15 of the plugin). With
KubeRay, set `plasma-directory` for the group. `/tmp`, Ray's own choice where shared memory is small, keeps objects on
disk, which is slower. `/dev/shm` keeps them in the daemon's memory; on a node without MPS it may hold only 64 MiB.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import message

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a path in the container
_REMOVE = "remove the mount; the device plugin mounts the daemon's /dev/shm"
_SET = "set plasma-directory: /tmp in rayStartParams; KubeRay 1.6 and later then mounts nothing"


def run(context: PodContext) -> Violations:
    """One violation per container with such a mount, or with one that KubeRay adds to it."""
    adds_mount = context.extracted.hides_shared_memory
    for request in context.first_mps_requests:
        container = request.container
        is_added = adds_mount and container.path == (*context.pod.spec_path, "containers", 0)
        if _SHARED_MEMORY in container.mounts:
            yield Violation(
                (*container.path, "volumeMounts", container.mounts[_SHARED_MEMORY], "mountPath"),
                message(
                    f"{container.kind} {{}} mounts a volume at /dev/shm, which hides the MPS daemon's", container.label
                ),
                f"remove the mount and {_SET}" if is_added else _REMOVE,
            )
        elif is_added:
            yield Violation(
                container.path,
                message(
                    f"KubeRay mounts a volume at /dev/shm in {container.kind} {{}}, which hides the MPS daemon's",
                    container.label,
                ),
                _SET,
            )


CHECK = Check(
    "GPS005",
    Severity.WARN,
    Scope.MPS,
    run,
    __doc__,
    settings=("profile",),
    sources=(
        "NVIDIA/k8s-device-plugin:internal/plugin/mps.go",
        "kubernetes/kubernetes:pkg/kubelet/kubelet_pods.go",
        "ray-project/kuberay#4524",
    ),
)
