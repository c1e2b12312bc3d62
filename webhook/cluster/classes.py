"""RuntimeClasses and DeviceClasses as facts, without the client that reads them.

The API server rejects every pod that names a missing RuntimeClass. A DeviceClass serves extended resources through
dynamic resource allocation.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import Metadata
from webhook.cluster.objects import Kind
from webhook.policy.placement.cluster_objects import DeviceClass, RuntimeClass

# Kubernetes 1.34 has `extendedResourceName` in all three versions (KEP-5004), and serves v1 by default. Classes of
# earlier releases lack it. A cluster that serves none of the versions has no classes.
DEVICE_CLASSES: Final = tuple(
    Kind("deviceclass", "deviceclasses", "resource.k8s.io", version, is_namespaced=False)
    for version in ("v1", "v1beta2", "v1beta1")
)

MOST_LABELS: Final = 64
"""Labels of a class's node selector that are kept: the first by name. Without the others, it selects more nodes."""


class _Scheduling(Struct, rename="camel"):
    node_selector: dict[str, str] | None = None


class _RuntimeClass(Struct):
    metadata: Metadata
    handler: str = ""
    scheduling: _Scheduling | None = None


class _DeviceClassSpec(Struct, frozen=True, rename="camel"):
    extended_resource_name: str | None = None


class _DeviceClass(Struct):
    metadata: Metadata
    spec: _DeviceClassSpec = _DeviceClassSpec()


_DECODER_OF_RUNTIMES: Final = msgspec.json.Decoder(_RuntimeClass)
_DECODER_OF_DEVICES: Final = msgspec.json.Decoder(_DeviceClass)


def runtime_class(found: Raw) -> tuple[str, RuntimeClass]:
    """Read a RuntimeClass. Raises msgspec.MsgspecError."""
    one = _DECODER_OF_RUNTIMES.decode(found)
    selector = (one.scheduling and one.scheduling.node_selector) or {}
    if len(selector) > MOST_LABELS:
        selector = {key: selector[key] for key in nsmallest(MOST_LABELS, selector)}
    return one.metadata.name, RuntimeClass(one.metadata.name, one.handler, selector)


def device_class(found: Raw) -> tuple[str, DeviceClass]:
    """Read a DeviceClass. Raises msgspec.MsgspecError."""
    one = _DECODER_OF_DEVICES.decode(found)
    return one.metadata.name, DeviceClass(one.metadata.name, one.spec.extended_resource_name or "")
