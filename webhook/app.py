"""The composition root of an installed webhook: it connects the server, the certificates and the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from webhook.settings.configuration import Configuration

if TYPE_CHECKING:
    from webhook.cluster.client import Client
    from webhook.cluster.live_facts import LiveSource
    from webhook.cluster.settings_map import SettingsMap
    from webhook.policy.settings.settings import Settings
    from webhook.server import Server
    from webhook.settings.process import Tls


class NotInstalledError(Exception):
    """The settings need something of the cluster that is missing. The message says what, and what to do."""


@asynccontextmanager
async def installed(
    server: Server, wanted: Configuration, installed_as: str | None, kubeconfig: str | None
) -> AsyncIterator[None]:
    """Add the tasks that the settings need of the cluster to the server. Raises NotInstalledError.

    Without such settings no cluster is looked for. `installed_as` is NAMESPACE/NAME, which the names of the objects of
    the installation are made of. With it, the settings are followed, too.
    """
    managed, facts = wanted.tls.mode == "self-managed", wanted.settings.facts.are_wanted
    policies = wanted.settings.policies.enabled and installed_as is not None
    if not managed and not facts and not wanted.events.enabled and not policies:
        yield
        return
    from webhook.cluster.client import ClusterError, connect

    namespace, name = _named(installed_as, wanted.tls)
    try:
        api = await connect(kubeconfig)
    except ClusterError as error:
        raise NotInstalledError(str(error)) from None
    try:
        if managed:
            _keep_certificates(server, wanted.tls, namespace, name, api)
        sources = _follow_facts(server, wanted.settings, api) if facts else ()
        settings = _follow_settings(server, namespace, name, api) if name else None
        if policies and settings is not None:
            _write_parameters(server, namespace, name, api, settings, sources)
        if wanted.events.enabled:
            _write_events(server, api)
        yield
    finally:
        await api.close()


def _named(installed_as: str | None, tls: Tls) -> tuple[str, str]:
    """The namespace and the name of the installation, empty if they are not given. Raises NotInstalledError."""
    namespace, _, name = (installed_as or "").partition("/")
    if namespace and name:
        return namespace, name
    if tls.mode == "self-managed":
        raise NotInstalledError("tls.mode self-managed needs --installed-as NAMESPACE/NAME, which the chart sets")
    if installed_as is not None:
        raise NotInstalledError("--installed-as must be NAMESPACE/NAME")
    return "", ""


def _follow_settings(server: Server, namespace: str, name: str, api: Client) -> SettingsMap:
    """Follow the ConfigMap that the chart makes. The cap comes first: settings that are wrong do not hold it up."""
    from webhook.cluster.settings_map import InstalledSettings, SettingsMap

    async def take(found: InstalledSettings) -> None:
        server.live.cap_mode(found.mode)
        if found.text is not None:
            server.live.installed_text = found.text.encode(errors="replace")
            await server.reload.refresh("settings")

    settings = SettingsMap(api, namespace, name, take, server.log.event)
    server.supervisor.add("installed settings", settings.run)
    server.requirements["not waiting for settings"] = lambda: not settings.pending()
    server.details["settings are from"] = lambda: settings.state
    return settings


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
    server.supervisor.add("certificates", keeper.run)
    server.requirements["certificate trusted"] = lambda: keeper.trusted


def _follow_facts(server: Server, settings: Settings, api: Client) -> Sequence[LiveSource]:
    from webhook.cluster.live_facts import LiveFacts
    from webhook.policy.placement.node_bounds import Decisive

    if settings.facts.device_classes and not server.live.evaluator.ruleset.nodes.known and not settings.facts.nodes:
        reason = "a DeviceClass that serves a shared resource turns its limits into warnings where nodes are unknown"
        server.log.event("warning", "facts.deviceClasses without facts.nodes", reason=reason)
    facts = LiveFacts(api, settings.facts, Decisive.of(settings), server.live.apply_cluster_facts, server.log.event)
    for name, run in facts.tasks():
        server.supervisor.add(name, run)
    for source in facts.sources:
        _expose(source, server)
    return facts.sources


def _write_parameters(
    server: Server, namespace: str, name: str, api: Client, settings: SettingsMap, sources: Sequence[LiveSource]
) -> None:
    """Write the parameters of policies, as soon as the cap on the mode and the facts are known.

    The object may also cap the mode of policies, which logs and metrics tell.
    """
    from webhook.cluster.parameters_object import ParametersObject
    from webhook.cluster.settings_map import MODE
    from webhook.inprocess.installation import PREFIX, SUFFIX
    from webhook.inprocess.parameters import parameters
    from webhook.server.mode_cap import ModeCap

    cap = ModeCap(server.log, server.metrics, of="policies")

    def wanted() -> Mapping[str, str] | None:
        waits = not settings.taken or any(source.pending for source in sources)
        return None if waits else parameters(server.live.evaluator.ruleset)

    def seen(annotations: Mapping[str, str]) -> None:
        cap.take(annotations.get(MODE))

    account = f"{name}{SUFFIX}"
    written = ParametersObject(api, namespace, account, PREFIX, wanted, server.live.replaced, server.log.event, seen)
    server.supervisor.add("parameters of policies", written.run)
    server.metrics.parameters_age.set_function(lambda: -1 if written.age is None else written.age)


def _write_events(server: Server, api: Client) -> None:
    from webhook.cluster.events import PodEvents

    events = PodEvents(api, server.log.event, lambda result: server.metrics.events(result).inc())
    server.reviews.on_outcome = events.offer
    server.supervisor.add("Events", events.run)


def _expose(source: LiveSource, server: Server) -> None:
    """Make readiness depend on a source of facts, and show its state to people and in metrics."""

    def state() -> str:
        known = "unknown" if source.age is None else f"{source.count} known, confirmed {source.age:.0f} s ago"
        return f"{known}, failing" if source.failing else known

    server.requirements[f"not waiting for {source.subject}"] = lambda: not source.pending
    server.details[f"facts: {source.subject}"] = state
    server.metrics.watch_facts(source)
