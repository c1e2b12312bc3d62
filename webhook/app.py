"""The composition root of an installed webhook: it connects the server, the certificates and the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from webhook.settings.configuration import Configuration

if TYPE_CHECKING:
    from webhook.cluster.client import Client
    from webhook.server import Server
    from webhook.server.observe.metrics import Metrics
    from webhook.settings.process import Tls


class NotInstalledError(Exception):
    """The settings need something of the cluster that is missing. The message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class InstallationOptions:
    """Where the webhook runs. `installed_as` is NAMESPACE/NAME, which the names of its objects are made of."""

    installed_as: str | None
    kubeconfig: str | None


@asynccontextmanager
async def installed(server: Server, wanted: Configuration, options: InstallationOptions) -> AsyncIterator[None]:
    """Add the tasks that the settings need of the cluster to the server. Raises NotInstalledError.

    Without such settings no cluster is looked for.
    """
    managed, classes = wanted.tls.mode == "self-managed", wanted.settings.facts.runtime_classes
    if not managed and not classes:
        yield
        return
    api = await _connect(options)
    try:
        if managed:
            _keep_certificates(server, wanted.tls, options, api)
        if classes:
            _watch_runtime_classes(server, api)
        yield
    finally:
        await api.close()


async def _connect(options: InstallationOptions) -> Client:
    from webhook.cluster.client import ClusterError, connect

    try:
        return await connect(options.kubeconfig)
    except ClusterError as error:
        raise NotInstalledError(str(error)) from None


def _keep_certificates(server: Server, tls: Tls, options: InstallationOptions, api: Client) -> None:
    from webhook.pki import Dependencies, Installation, Keeper, Lifetimes

    namespace, _, name = (options.installed_as or "").partition("/")
    if not namespace or not name:
        raise NotInstalledError("tls.mode self-managed needs --installed-as NAMESPACE/NAME, which the chart sets")
    lifetimes = [timedelta(seconds=seconds) for seconds in (tls.ca_lifetime, tls.leaf_lifetime, tls.settle)]
    keeper = Keeper(
        Installation(namespace, name, tls.extra_hosts),
        Lifetimes(*lifetimes),
        Dependencies(api, server.credentials.install, server.log.event, CertificateMetrics(server.metrics), api.now),
    )
    server.supervisor.add("certificates", keeper.run)
    server.requirements["certificate trusted"] = lambda: keeper.trusted


def _watch_runtime_classes(server: Server, api: Client) -> None:
    from webhook.cluster.runtime_classes import Classes, RuntimeClasses

    def changed(known: Classes) -> None:
        server.live.apply_cluster_facts(runtime_classes=known)

    classes = RuntimeClasses(api, changed, server.log.event)
    server.supervisor.add("runtime classes", classes.run)
    server.requirements["not waiting for runtime classes"] = lambda: not classes.pending()
    age = server.metrics.facts_age.labels("runtime-classes")
    age.set_function(lambda: -1 if classes.age is None else classes.age)


@dataclass(frozen=True, slots=True)
class CertificateMetrics:
    """The metrics of a keeper."""

    metrics: Metrics

    def count(self, what: str) -> None:
        """Count one event."""
        self.metrics.certificates.labels(what).inc()

    def authority_ends(self, end: datetime) -> None:
        """Record when the current authority ends."""
        self.metrics.expiry.labels("ca").set(end.timestamp())
