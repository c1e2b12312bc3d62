"""What `serve` does in a cluster beside answering: it looks after its certificates, and watches what facts say.

This is the one place where the server, the certificates and the cluster meet.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from webhook.settings.configuration import Configuration

if TYPE_CHECKING:
    from webhook.cluster.api import Api
    from webhook.server import Server
    from webhook.server.observe.metrics import Metrics
    from webhook.settings.process import Tls


class NotInstalledError(Exception):
    """Something of the cluster is wanted that cannot be had. The message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The access to the cluster. `installed_as` is NAMESPACE/NAME, which names all objects of the installation."""

    installed_as: str | None
    kubeconfig: str | None


@asynccontextmanager
async def installed(server: Server, wanted: Configuration, access: ClusterAccess) -> AsyncIterator[None]:
    """Have the server accompanied by what its settings ask of the cluster. Raises NotInstalledError.

    Nothing is looked for where nothing is asked.
    """
    managed, classes = wanted.tls.mode == "self-managed", wanted.settings.facts.runtime_classes
    if not managed and not classes:
        yield
        return
    api = await _api(access)
    try:
        if managed:
            _keep_certificates(server, wanted.tls, access, api)
        if classes:
            _watch_runtime_classes(server, api)
        yield
    finally:
        await api.close()


async def _api(access: ClusterAccess) -> Api:
    from webhook.cluster.api import ClusterError, connect

    try:
        return await connect(access.kubeconfig)
    except ClusterError as error:
        raise NotInstalledError(str(error)) from None


def _keep_certificates(server: Server, tls: Tls, access: ClusterAccess, api: Api) -> None:
    from webhook.pki import Dependencies, Installation, Keeper, Lifetimes

    namespace, _, name = (access.installed_as or "").partition("/")
    if not namespace or not name:
        raise NotInstalledError("tls.mode self-managed needs --installed-as NAMESPACE/NAME, which the chart gives")
    lives = [timedelta(seconds=seconds) for seconds in (tls.ca_lifetime, tls.leaf_lifetime, tls.settle)]
    keeper = Keeper(
        Installation(namespace, name, tls.extra_hosts),
        Lifetimes(*lives),
        Dependencies(api, server.credentials.present, server.log.event, Counted(server.metrics), api.now),
    )
    server.supervisor.add("certificates", keeper.run)
    server.requirements["certificate trusted"] = lambda: keeper.trusted


def _watch_runtime_classes(server: Server, api: Api) -> None:
    from webhook.cluster.runtime_classes import RuntimeClasses

    classes = RuntimeClasses(api, lambda known: server.in_force.learn(runtime_classes=known), server.log.event)
    server.supervisor.add("runtime classes", classes.run)
    server.requirements["not waiting for runtime classes"] = lambda: not classes.pending()
    age = server.metrics.facts_age.labels("runtime-classes")
    age.set_function(lambda: -1 if classes.age is None else classes.age)


@dataclass(frozen=True, slots=True)
class Counted:
    """What happens to certificates, as metrics."""

    metrics: Metrics

    def count(self, what: str) -> None:
        """Something happened once more."""
        self.metrics.certificates.labels(what).inc()

    def ends(self, end: datetime) -> None:
        """The authority that signs ends then."""
        self.metrics.expiry.labels("ca").set(end.timestamp())
