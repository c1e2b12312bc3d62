"""The objects of a stand-in cluster without HTTP, and what `doctor` finds in them."""

from __future__ import annotations

import asyncio

from tests.cli.cluster import FakeCluster
from tests.diagnose.objects import StoredObjects
from webhook.cluster import objects as kinds
from webhook.cluster.objects import POD, Kind, Object
from webhook.diagnose.doctor.answer import Doctor, examine
from webhook.diagnose.doctor.finding import Finding
from webhook.diagnose.doctor.seen import gather
from webhook.policy.placement.cluster_objects import Namespace, RuntimeClass
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings


class Saved(StoredObjects):
    """The objects of a cluster, all of which may be read."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster.lists, page=1000)
        self._cluster = cluster

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        return self._cluster.objects.get(kind.path(namespace, name))

    async def metrics(self, namespace: str, pod: str, port: int) -> str | None:
        return self._cluster.texts.get(f"{POD.path(namespace, pod)}:{port}/proxy/metrics")


def examined(cluster: FakeCluster, plugin: str | None = None) -> Doctor:
    """The answer about a cluster, in which the caller may name the DaemonSet of the plugin."""
    namespaces = [
        Namespace(one["metadata"]["name"], one["metadata"]["labels"])
        for one in cluster.lists.get(kinds.NAMESPACE.path(), [])
    ]
    classes = [
        RuntimeClass(one["metadata"]["name"], one["handler"])
        for one in cluster.lists.get(kinds.RUNTIME_CLASS.path(), [])
    ]
    facts = Facts(namespaces=tuple(namespaces), runtime_classes=tuple(classes))
    return examine(asyncio.run(gather(Saved(cluster), Settings(), facts, None, None, plugin)))


def found(cluster: FakeCluster) -> list[str]:
    """The findings by name, in their order."""
    return [one.finding for one in examined(cluster).findings]


def only(cluster: FakeCluster) -> Finding:
    """The only finding."""
    (one,) = examined(cluster).findings
    return one
