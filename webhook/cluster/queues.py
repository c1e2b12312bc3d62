"""Kueue, and gangs: the namespaces with a default queue, and the kinds of their objects.

Kueue's webhook puts a Job that names no queue into the LocalQueue `default` of its namespace. A running webhook does
not read these queues, since the objects that it sees name theirs; a command that checks manifests does.
"""

from __future__ import annotations

from typing import Final

from webhook.cluster.api_server import ApiServer
from webhook.cluster.objects import Kind, LiveObjects, ReadError, all_of
from webhook.cluster.reading import word

GROUP: Final = "kueue.x-k8s.io"
"""The API group of Kueue, and the prefix of its labels and scheduling gates."""

_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
LOCAL_QUEUES: Final = [Kind("LocalQueue", "localqueues", GROUP, version) for version in _VERSIONS]

WORKLOADS: Final = [Kind("Workload", "workloads", GROUP, version) for version in _VERSIONS]
"""What Kueue admits in place of each Job, or pod, that waits in a queue."""

POD_GROUPS: Final = [Kind("PodGroup", "podgroups", "scheduling.k8s.io", version) for version in ("v1beta1", "v1alpha3")]
"""Gangs of Kubernetes itself, whose pods the scheduler places at once."""

_DEFAULT: Final = "default"


async def default_queues(api: ApiServer) -> tuple[str, ...] | None:
    """Return the namespaces in order; None where the cluster has no Kueue. Raises ReadError.

    On a cluster without Kueue, a user needs no right to list its queues: the API group, of which every user may ask, is
    missing there.
    """
    objects = LiveObjects(api)
    kind = await objects.served(LOCAL_QUEUES)
    found = set()
    if kind is not None:
        async for one in all_of(objects, kind, fieldSelector=f"metadata.name={_DEFAULT}"):
            if word(one, "metadata", "name") == _DEFAULT:
                found.add(word(one, "metadata", "namespace"))
    if objects.left_out:
        raise ReadError(objects.left_out[0].why)
    return None if kind is None else tuple(sorted(found))
