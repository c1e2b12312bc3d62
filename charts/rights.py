"""The rights that each question needs: rules that allow `get` of what it reads, and `list` of what it lists.

A right that a user lacks leaves a part of an answer out, and never fails the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from webhook.cluster.classes import DEVICE_CLASSES, LOCAL_QUEUES, POD_GROUPS, WORKLOADS
from webhook.cluster.installations import MADE
from webhook.cluster.objects import (
    CONFIG_MAP,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    EVENT,
    JOB,
    LIMIT_RANGE,
    NAMESPACE,
    NODE,
    POD,
    QUOTA,
    REPLICA_SET,
    RUNTIME_CLASS,
    STATEFUL_SET,
    Kind,
)
from webhook.policy.settings.settings import Workloads
from webhook.policy.workloads.presets import kinds_with

FACTS: Final = (DAEMON_SET, NODE, NAMESPACE, RUNTIME_CLASS, DEVICE_CLASSES[0], LOCAL_QUEUES[0])
"""What the facts are read from, apart from the ConfigMaps that hold the settings and the plugin's configurations."""

_WORKLOADS: Final = tuple(
    Kind(kind.kind, kind.resource, kind.group) for kind in kinds_with(Workloads(presets=("all",))).values()
)
"""The kinds that hold pods: a cluster serves few of them."""


_LOG: Final = Kind("log", "pods/log")
_OWNERS: Final = (REPLICA_SET, DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, CRON_JOB)
_INSTALLATION: Final = (CONFIG_MAP, ENDPOINT_SLICE, *MADE)

READ: Final[Mapping[str, tuple[Kind, ...]]] = {
    "why": (*FACTS, CONFIG_MAP, POD, _LOG, EVENT, *_OWNERS, WORKLOADS[0], POD_GROUPS[0]),
    "top": (*FACTS, POD, REPLICA_SET, JOB),
    "audit": (*FACTS, *_WORKLOADS),
    "plan": (*FACTS, LIMIT_RANGE, QUOTA, *_WORKLOADS),
    "doctor": (*FACTS, POD, EVENT, QUOTA, LIMIT_RANGE, *_OWNERS, *_INSTALLATION),
}
"""What each question reads.

`pods/proxy`, by which `doctor` reads metrics, is not among them: it reaches too much.
"""


_BY_NAME: Final = (CONFIG_MAP, _LOG)
"""Kinds of which the commands read single objects. Other objects name them, so that no role can list the names."""


def rules(kinds: Iterable[Kind]) -> list[dict[str, Any]]:
    """The rules of a ClusterRole that allow to read these kinds, one for each API group and its verbs."""
    known = sorted({(kind.group, kind not in _BY_NAME, kind.plural) for kind in kinds})
    return [
        {
            "apiGroups": [group],
            "resources": [plural for *_, plural in found],
            "verbs": ["get", "list"] if is_listed else ["get"],
        }
        for (group, is_listed), found in groupby(known, lambda one: one[:2])
    ]
