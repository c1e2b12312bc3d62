"""The rights that each question needs: rules that allow `get` and `list` of what it reads.

A right that a user lacks leaves a part of an answer out, and never fails the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from webhook.cluster.objects import (
    JOB,
    NAMESPACE,
    NODE,
    POD,
    REPLICA_SET,
    RUNTIME_CLASS,
    Kind,
)
from webhook.cluster.served import BUILT_IN, of_presets

_DEVICE_CLASS: Final = Kind("deviceclass", "deviceclasses", "resource.k8s.io", is_namespaced=False)
_LOCAL_QUEUE: Final = Kind("localqueue", "localqueues", "kueue.x-k8s.io")

FACTS: Final = (NODE, NAMESPACE, RUNTIME_CLASS, _DEVICE_CLASS, _LOCAL_QUEUE)
"""What the facts are read from, apart from the ConfigMaps that hold the settings and the plugin's configurations."""

_WORKLOADS: Final = (POD, *BUILT_IN.values(), *of_presets())

READ: Final[Mapping[str, tuple[Kind, ...]]] = {
    "top": (*FACTS, POD, REPLICA_SET, JOB),
    "audit": (*FACTS, *_WORKLOADS),
    "plan": (*FACTS, *_WORKLOADS),
}
"""What each question reads."""


def rules(kinds: Iterable[Kind]) -> list[dict[str, Any]]:
    """The rules of a ClusterRole that allow to read these kinds, one for each API group."""
    known = sorted({(kind.group, kind.plural) for kind in kinds})
    return [
        {"apiGroups": [group], "resources": [plural for _, plural in found], "verbs": ["get", "list"]}
        for group, found in groupby(known, lambda one: one[0])
    ]
