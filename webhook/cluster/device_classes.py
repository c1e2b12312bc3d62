"""The DeviceClasses of a cluster as facts: they serve extended resources through dynamic resource allocation."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import ApiServer, Metadata, Rule
from webhook.cluster.readers import Collection
from webhook.policy.placement.cluster_objects import DeviceClass

# Kubernetes 1.34 has `extendedResourceName` in all three versions (KEP-5004), and serves v1 by default. Classes of
# earlier releases lack it. A cluster that serves none of the versions has no classes.
_PATHS: Final = tuple(f"/apis/resource.k8s.io/{version}/deviceclasses" for version in ("v1", "v1beta2", "v1beta1"))
_RULE: Final = Rule("resource.k8s.io", "deviceclasses", ("list", "watch"))


class _DeviceClassSpec(Struct, frozen=True, rename="camel"):
    extended_resource_name: str | None = None


class _DeviceClass(Struct):
    metadata: Metadata
    spec: _DeviceClassSpec = _DeviceClassSpec()


_CLASSES: Final = msgspec.json.Decoder(_DeviceClass)


def reader(api: ApiServer) -> Collection[DeviceClass]:
    """Read the DeviceClasses."""
    return Collection(api, _PATHS, _device_class, _RULE)


def _device_class(found: Raw) -> tuple[str, DeviceClass]:
    one = _CLASSES.decode(found)
    return one.metadata.name, DeviceClass(one.metadata.name, one.spec.extended_resource_name or "")
