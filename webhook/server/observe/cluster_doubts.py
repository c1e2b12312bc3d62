"""What the snapshot in force leaves in doubt about the cluster: exported, and logged once per change.

A kubelet can change at will whether the class of its node is known, so the same nodes are logged once in ten minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from webhook.policy.messages import printable
from webhook.policy.rules import Ruleset
from webhook.runtime.failure_log import Recently
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_NAMED: Final = 20
"""Names in a log line."""


class ClusterDoubts:
    """Nodes of which it is unknown how they share their cards, and shared resources that a DeviceClass serves."""

    def __init__(self, log: EventLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._unknown: Sequence[str] = []
        self._served: Sequence[str] = []
        self._only_warns = False
        self._recently = Recently()

    def observe(self, snapshot: Ruleset) -> None:
        index = snapshot.nodes.index
        self._observe_nodes([node.name for node in index.nodes(index.unknown)])
        shared = (resource.name for resource in snapshot.settings.resources if resource.kind == "shared")
        self._observe_classes([name for name in shared if name in snapshot.nodes.dynamic], snapshot.nodes.known)

    def _observe_nodes(self, unknown: Sequence[str]) -> None:
        self._metrics.unknown_nodes.set(len(unknown))
        if unknown == self._unknown:
            return
        self._unknown = unknown
        if not self._recently.new([sha256("\n".join(unknown).encode()).hexdigest()]):
            return
        if not unknown:
            self._log.event("info", "no node of unknown class is left")
            return
        names = [printable(name) for name in unknown[:_NAMED]]
        reason = (
            "no label shows how they share their cards, or they have more labels, taints or resources than are kept"
        )
        self._log.event("warning", "nodes of unknown class", names=names, count=len(unknown), reason=reason)

    def _observe_classes(self, served: Sequence[str], nodes_are_known: bool) -> None:
        self._metrics.served_dynamically.set(len(served))
        only_warns = bool(served) and not nodes_are_known
        if served == self._served and only_warns == self._only_warns:
            return
        self._served, self._only_warns = served, only_warns
        if not served:
            self._log.event("info", "no DeviceClass serves a shared resource any more")
            return
        limits = "warn, unless the pod requires nodes that share" if only_warns else "deny where a known node shares"
        self._log.event("warning", "a DeviceClass serves shared resources", resources=served, limits=limits)
