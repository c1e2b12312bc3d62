"""The composition root of an installed webhook: it connects the server, the certificates and the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from webhook.settings.configuration import Configuration

if TYPE_CHECKING:
    from webhook.cluster.client import Client
    from webhook.cluster.live_facts import LiveSource
    from webhook.policy.settings.settings import Settings
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
    managed, facts = wanted.tls.mode == "self-managed", wanted.settings.facts.are_wanted
    if not managed and not facts:
        yield
        return
    api = await _connect(options)
    try:
        if managed:
            _keep_certificates(server, wanted.tls, options, api)
        if facts:
            _follow_facts(server, wanted.settings, api)
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


def _follow_facts(server: Server, settings: Settings, api: Client) -> None:
    from webhook.cluster.live_facts import LiveFacts
    from webhook.policy.placement.node_bounds import Decisive

    if settings.facts.device_classes and not server.live.evaluator.ruleset.nodes.known and not settings.facts.nodes:
        reason = "a DeviceClass that serves a shared resource turns its limits into warnings where nodes are unknown"
        server.log.event("warning", "facts.deviceClasses without facts.nodes", reason=reason)
    facts = LiveFacts(api, settings.facts, Decisive.of(settings), server.live.apply_cluster_facts, server.log.event)
    for name, run in facts.tasks():
        server.supervisor.add(name, run)
    for source in facts.sources:
        server.requirements[f"not waiting for {source.subject}"] = partial(_is_settled, source)
        server.details[f"facts: {source.subject}"] = partial(_state, source)
        server.metrics.watch_facts(source)


def _is_settled(source: LiveSource) -> bool:
    return not source.pending


def _state(source: LiveSource) -> str:
    """What a source of facts knows, for people."""
    known = "unknown" if source.age is None else f"{source.count} known, confirmed {source.age:.0f} s ago"
    return f"{known}, failing" if source.failing else known


@dataclass(frozen=True, slots=True)
class CertificateMetrics:
    """The metrics of a keeper."""

    metrics: Metrics

    def count(self, what: str) -> None:
        self.metrics.certificates.labels(what).inc()

    def authority_ends(self, end: datetime) -> None:
        self.metrics.expiry.labels("ca").set(end.timestamp())
