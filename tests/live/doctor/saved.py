"""The objects of a stand-in cluster without HTTP, and what `doctor` finds in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import ClassVar

from tests.cli.cluster import FakeCluster
from webhook.cluster import objects as kinds
from webhook.cluster.api_server import Rule
from webhook.cluster.objects import Kind, LeftOut, Object
from webhook.live.doctor.answer import Doctor, examine
from webhook.live.doctor.finding import Finding
from webhook.live.doctor.gathering import gather
from webhook.policy.placement.cluster_objects import Namespace, RuntimeClass
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings


class Saved:
    """The objects of a cluster, all of which may be read."""

    is_live: ClassVar[bool] = True

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.left_out: list[LeftOut] = []

    async def pages(
        self,
        kind: Kind,
        namespace: str | None = None,
        query: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> AsyncGenerator[list[Object], None]:
        yield self._cluster.lists.get(kind.path(namespace), [])

    async def listed(
        self,
        kind: Kind,
        namespace: str | None = None,
        query: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> list[Object] | None:
        return self._cluster.lists.get(kind.path(namespace), [])

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        return self._cluster.objects.get(kind.path(namespace, name))

    async def text(self, what: str, path: str, rule: Rule) -> str | None:  # noqa: ARG002
        return self._cluster.texts.get(path)

    async def served(self, wanted: Iterable[Kind]) -> Kind | None:
        return next((kind for kind in wanted if kind.root in self._cluster.objects), None)

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:  # noqa: ARG002
        return False

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:  # noqa: ARG002
        return False


def examined(cluster: FakeCluster) -> Doctor:
    """The answer about a cluster."""
    namespaces = [
        Namespace(one["metadata"]["name"], one["metadata"]["labels"])
        for one in cluster.lists.get(kinds.NAMESPACE.path(), [])
    ]
    classes = [
        RuntimeClass(one["metadata"]["name"], one["handler"])
        for one in cluster.lists.get(kinds.RUNTIME_CLASS.path(), [])
    ]
    facts = Facts(namespaces=tuple(namespaces), runtime_classes=tuple(classes))
    return examine(asyncio.run(gather(Saved(cluster), Settings(), facts, None, None)))


def found(cluster: FakeCluster) -> list[str]:
    """The findings by name, in their order."""
    return [one.finding for one in examined(cluster).findings]


def only(cluster: FakeCluster) -> Finding:
    """The only finding."""
    (one,) = examined(cluster).findings
    return one
