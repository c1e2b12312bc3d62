"""What `doctor` finds in a stand-in cluster, asked both ways."""

from __future__ import annotations

import asyncio

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import both_ways
from webhook.cluster.objects import NAMESPACE, RUNTIME_CLASS, Objects
from webhook.diagnose.doctor.answer import Doctor, examine
from webhook.diagnose.doctor.seen import gather
from webhook.diagnose.finding import Finding
from webhook.policy.placement.cluster_objects import Namespace, RuntimeClass
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings


def examined(cluster: FakeCluster, plugin: str | None = None) -> Doctor:
    """The answer about a cluster, in which the caller may name the DaemonSet of the plugin."""

    async def ask(objects: Objects) -> Doctor:
        spaces, classes = await objects.listed(NAMESPACE) or (), await objects.listed(RUNTIME_CLASS) or ()
        facts = Facts(
            namespaces=tuple(Namespace(one["metadata"]["name"], one["metadata"]["labels"]) for one in spaces),
            runtime_classes=tuple(RuntimeClass(one["metadata"]["name"], one["handler"]) for one in classes),
        )
        return examine(await gather(objects, Settings(), facts, None, None, plugin))

    return asyncio.run(both_ways(cluster, ask, Doctor.as_data))


def found(cluster: FakeCluster) -> list[str]:
    """The findings by name, in their order."""
    return [one.finding for one in examined(cluster).findings]


def only(cluster: FakeCluster) -> Finding:
    """The only finding."""
    (one,) = examined(cluster).findings
    return one
