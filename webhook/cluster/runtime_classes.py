"""The RuntimeClasses of a cluster as facts: the API server rejects every pod that names a missing one."""

from __future__ import annotations

from heapq import nsmallest
from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import ApiServer, Metadata, Rule
from webhook.cluster.readers import Collection
from webhook.policy.placement.cluster_objects import RuntimeClass

_PATHS: Final = ("/apis/node.k8s.io/v1/runtimeclasses",)
_RULE: Final = Rule("node.k8s.io", "runtimeclasses", ("list", "watch"))

MOST_LABELS: Final = 64
"""Labels of a class's node selector that are kept: the first by name. Without the others, it selects more nodes."""


class _Scheduling(Struct, rename="camel"):
    node_selector: dict[str, str] | None = None


class _RuntimeClass(Struct):
    metadata: Metadata
    handler: str = ""
    scheduling: _Scheduling | None = None


_CLASSES: Final = msgspec.json.Decoder(_RuntimeClass)


def reader(api: ApiServer) -> Collection[RuntimeClass]:
    """Read the RuntimeClasses."""
    return Collection(api, _PATHS, _runtime_class, _RULE)


def _runtime_class(found: Raw) -> tuple[str, RuntimeClass]:
    one = _CLASSES.decode(found)
    selector = (one.scheduling and one.scheduling.node_selector) or {}
    if len(selector) > MOST_LABELS:
        selector = {key: selector[key] for key in nsmallest(MOST_LABELS, selector)}
    return one.metadata.name, RuntimeClass(one.metadata.name, one.handler, selector)
