"""The composition root of an installed webhook: it connects the server, the certificates and the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from webhook.diagnostics import InputError
from webhook.policy.settings.formats import NAMESPACED_NAME
from webhook.settings.configuration import Configuration, Tls

if TYPE_CHECKING:
    from webhook.cluster.client import Client
    from webhook.cluster.facts import LiveSource
    from webhook.policy.settings.settings import Settings
    from webhook.server.app import Server


@asynccontextmanager
async def installed(
    server: Server, wanted: Configuration, installed_as: str | None, kubeconfig: str | None
) -> AsyncIterator[None]:
    """Add the tasks that the settings need of the cluster to the server. Raises InputError.

    Without such settings no cluster is looked for. `installed_as` is NAMESPACE/NAME, which the names of the objects of
    the installation are made of. With it, the settings are followed, too.
    """
    managed, facts = wanted.tls.mode == "self-managed", wanted.settings.facts.are_wanted
    if not managed and not facts:
        yield
        return
    from webhook.cluster.client import ClusterError, connect

    namespace, name = _named(installed_as, wanted.tls)
    try:
        api = await connect(kubeconfig)
    except ClusterError as error:
        raise InputError.of("serve", str(error)) from None
    try:
        if managed:
            _keep_certificates(server, wanted.tls, namespace, name, api)
        if facts:
            _follow_facts(server, wanted.settings, api)
        if name:
            _follow_installation(server, namespace, name, api)
        yield
    finally:
        await api.close()


def _named(installed_as: str | None, tls: Tls) -> tuple[str, str]:
    """The namespace and the name of the installation, empty if they are not given. Raises InputError."""
    if NAMESPACED_NAME.allows(installed_as):
        namespace, _, name = str(installed_as).partition("/")
        return namespace, name
    if tls.mode == "self-managed":
        raise InputError.of("serve", "tls.mode self-managed needs --installed-as NAMESPACE/NAME, which the chart sets")
    if installed_as is not None:
        raise InputError.of("serve", "--installed-as must be NAMESPACE/NAME")
    return "", ""


def _follow_installation(server: Server, namespace: str, name: str, api: Client) -> None:
    """Follow the settings that the chart installs, and the cap on the mode."""
    from webhook.cluster.followed import CAP, SETTINGS, Followed, record_refusal

    async def take_settings(text: str | None) -> None:
        if text:
            server.live.installed_text = text.encode(errors="replace")
            await server.reload.refresh("settings")

    async def take_cap(mode: str | None) -> None:
        server.live.cap_mode(mode or None)

    async def record(what: str, problem: str) -> None:
        if what == "settings":
            await record_refusal(api, namespace, name, problem, server.log.event)

    server.reload.on_reject = record
    cap = Followed(api, CAP, namespace, name, take_cap, server.log.event)
    settings = Followed(api, SETTINGS, namespace, name, take_settings, server.log.event)
    for what, followed in (("mode", cap), ("settings", settings)):
        server.supervisor.tasks[f"installed {what}"] = followed.run
        server.requirements[f"not waiting for {what}"] = followed.settled
    server.details["settings are from"] = lambda: settings.state


def _keep_certificates(server: Server, tls: Tls, namespace: str, name: str, api: Client) -> None:
    from webhook.pki import Dependencies, Installation, Keeper, Lifetimes

    lifetimes = [timedelta(seconds=seconds) for seconds in (tls.ca_lifetime, tls.leaf_lifetime, tls.settle)]
    metrics = server.metrics
    dependencies = Dependencies(
        api,
        server.credentials.install,
        server.log.event,
        count=lambda event: metrics.certificates.labels(event).inc(),
        authority_ends=lambda end: metrics.expiry.labels("ca").set(end.timestamp()),
        now=api.now,
    )
    keeper = Keeper(Installation(namespace, name, tls.extra_hosts), Lifetimes(*lifetimes), dependencies)
    server.supervisor.tasks["certificates"] = keeper.run
    server.requirements["certificate trusted"] = lambda: keeper.trusted


def _follow_facts(server: Server, settings: Settings, api: Client) -> None:
    from webhook.cluster.facts import LiveFacts
    from webhook.policy.placement.node_bounds import Decisive

    if settings.facts.device_classes and not server.live.evaluator.snapshot.nodes.known and not settings.facts.nodes:
        reason = "a DeviceClass that serves a shared resource turns its limits into warnings where nodes are unknown"
        server.log.event("warning", "facts.deviceClasses without facts.nodes", reason=reason)
    facts = LiveFacts(api, settings.facts, Decisive.of(settings), server.live.apply_cluster_facts, server.log.event)
    server.supervisor.tasks |= facts.tasks()
    for source in facts.sources:
        _expose(source, server)


def _expose(source: LiveSource, server: Server) -> None:
    """Make readiness depend on a source of facts, and show its state to people and in metrics."""

    def state() -> str:
        known = "unknown" if source.age is None else f"{source.count} known, confirmed {source.age:.0f} s ago"
        return f"{known}, failing" if source.failing else known

    server.requirements[f"not waiting for {source.part.subject}"] = lambda: not source.pending
    server.details[f"facts: {source.part.subject}"] = state
    server.metrics.watch_facts(source)
