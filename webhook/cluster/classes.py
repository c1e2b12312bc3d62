"""Namespaces, RuntimeClasses, DeviceClasses and default queues as facts, without the client that reads them.

The API server rejects every pod that names a missing RuntimeClass. A DeviceClass serves extended resources through
dynamic resource allocation. Kueue's webhook puts a Job that names no queue into the LocalQueue `default` of its
namespace; a running webhook does not read these queues, since the objects that it sees name theirs.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import IDENTIFIED, ApiServer, Identified, Metadata
from webhook.cluster.nodes import shared
from webhook.cluster.objects import Kind, LiveObjects, ReadError, all_of
from webhook.cluster.reading import word
from webhook.policy.placement.cluster_objects import DeviceClass, Namespace, RuntimeClass
from webhook.policy.placement.platforms import NAMESPACE_SELECTORS, POD_SECURITY

# Kubernetes 1.34 has `extendedResourceName` in all three versions (KEP-5004), and serves v1 by default. Classes of
# earlier releases lack it. A cluster that serves none of the versions has no classes.
DEVICE_CLASSES: Final = tuple(
    Kind("DeviceClass", "deviceclasses", "resource.k8s.io", version, is_namespaced=False)
    for version in ("v1", "v1beta2", "v1beta1")
)

MOST_LABELS: Final = 64
"""Labels that are kept: the first by name. Without the others, the node selector of a class selects more nodes."""

_LONGEST: Final = 1024
"""Characters of such an annotation that are read."""


def namespace(found: Raw) -> tuple[str, Namespace]:
    """Read a namespace with its labels, by which the settings may select after a reload.

    The labels of Pod Security are kept beside the others. Raises msgspec.MsgspecError.
    """
    metadata = IDENTIFIED.decode(found).metadata
    labels = metadata.labels or {}
    levels = {key: labels[key] for key in labels if key.startswith(POD_SECURITY)}
    kept = _first(levels) | _first({key: labels[key] for key in labels.keys() - levels.keys()})
    pooled = {shared(key): shared(value) for key, value in kept.items()}
    return metadata.name, Namespace(metadata.name, pooled, _selector(metadata))


def selecting(found: Raw) -> tuple[str, Namespace | None]:
    """Read a namespace that adds a node selector to its pods; None for another one. Raises msgspec.MsgspecError."""
    name, read = namespace(found)
    return name, read if read.node_selector else None


def _selector(metadata: Metadata) -> dict[str, str]:
    written = next((text for key in NAMESPACE_SELECTORS if (text := (metadata.annotations or {}).get(key))), "")
    if len(written) > _LONGEST:
        return {}
    pairs = (one.partition("=") for one in written.split(","))
    return {key.strip(): value.strip() for key, sign, value in pairs if sign}


def _first(labels: dict[str, str]) -> dict[str, str]:
    return labels if len(labels) <= MOST_LABELS else {key: labels[key] for key in nsmallest(MOST_LABELS, labels)}


class _Scheduling(Struct, rename="camel"):
    node_selector: dict[str, str] | None = None


class _RuntimeClass(Identified):
    handler: str = ""
    scheduling: _Scheduling | None = None


class _DeviceClassSpec(Struct, frozen=True, rename="camel"):
    extended_resource_name: str | None = None


class _DeviceClass(Identified):
    spec: _DeviceClassSpec = _DeviceClassSpec()


_RUNTIME: Final = msgspec.json.Decoder(_RuntimeClass)
_DEVICE: Final = msgspec.json.Decoder(_DeviceClass)


def runtime_class(found: Raw) -> tuple[str, RuntimeClass]:
    """Read a RuntimeClass. Raises msgspec.MsgspecError."""
    one = _RUNTIME.decode(found)
    selector = _first((one.scheduling and one.scheduling.node_selector) or {})
    return one.metadata.name, RuntimeClass(one.metadata.name, one.handler, selector)


def device_class(found: Raw) -> tuple[str, DeviceClass]:
    """Read a DeviceClass. Raises msgspec.MsgspecError."""
    one = _DEVICE.decode(found)
    return one.metadata.name, DeviceClass(one.metadata.name, one.spec.extended_resource_name or "")


KUEUE: Final = "kueue.x-k8s.io"
"""The API group of Kueue, and the prefix of its labels and scheduling gates."""

_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
LOCAL_QUEUES: Final = [Kind("LocalQueue", "localqueues", KUEUE, version) for version in _VERSIONS]

WORKLOADS: Final = [Kind("Workload", "workloads", KUEUE, version) for version in _VERSIONS]
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
