"""A live cluster as the input of a command: its facts, and the settings of the webhook that is installed there.

Only a command that reads a cluster imports this module: the client takes half a second to import.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Any

from webhook.cli.cluster_options import DEFAULT_QUEUES, PARTS, Cluster
from webhook.cli.screen import tell
from webhook.cluster.api_server import ApiServer, Rule
from webhook.cluster.client import ClusterError, connect
from webhook.cluster.facts import FactsError, read_facts
from webhook.cluster.queues import default_queues
from webhook.cluster.watch import ReadError
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import parse
from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import DevicePlugin
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings, Settings
from webhook.settings.load import load

SETTINGS_KEY = "settings.yaml"
"""The key of the chart's ConfigMap under which the settings file is."""

NO_PLUGIN = DevicePluginSource()
"""Nothing that names the device plugin."""


@dataclass(frozen=True, slots=True)
class Live:
    """What was read of a cluster. `settings_file` is the text of the installed settings file.

    `left_out` says for each part of the facts that was not read why, by its key in the facts file.
    """

    facts: Facts
    settings: Settings
    settings_file: str | None
    left_out: dict[str, str]


def read(cluster: Cluster, settings: Settings, plugin: DevicePluginSource = NO_PLUGIN) -> Live:
    """Read a cluster. `settings` apply unless the installed ones are read; `plugin` overrides theirs, key by key.

    Raises InputError, with one diagnostic for each part that cannot be read.
    """
    handler = _Lines(cluster)
    logging.getLogger().addHandler(handler)
    try:
        return asyncio.run(_read(cluster, settings, plugin))
    finally:
        logging.getLogger().removeHandler(handler)


class _Lines(logging.Handler):
    """Reports what the client's library logs, such as a failure of a credential plugin, as the command's own lines."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(logging.WARNING)
        self._cluster = cluster

    def emit(self, record: logging.LogRecord) -> None:
        tell(f"{self._cluster}: {record.getMessage()}")


async def _read(cluster: Cluster, settings: Settings, plugin: DevicePluginSource) -> Live:
    try:
        api = await connect(cluster.kubeconfig, cluster.context)
    except ClusterError as error:
        raise _error(cluster, str(error)) from None
    try:
        await _verify_access(api, cluster)
        text = None
        if cluster.installed_as is not None:
            text = await _installed(api, cluster, cluster.installed_as)
            settings = parse(f"ConfigMap {cluster.installed_as}", text.encode(), load).settings
        wanted, left_out = _wanted(cluster, settings.facts, plugin)
        return Live(await _facts(api, cluster, wanted, Decisive.of(settings)), settings, text, left_out)
    except OSError as error:
        raise _error(cluster, f"cannot be read: {error}; {_REMEDY}") from None
    finally:
        await api.close()


async def _verify_access(api: ApiServer, cluster: Cluster) -> None:
    """Check that the API server answers and knows the caller, before each part fails for that. Raises as `_read`."""
    status, _ = await api.request("GET", "/version")
    if status == _UNAUTHORIZED:
        raise _error(cluster, "the API server does not accept the credentials; log in again, then retry")


_UNAUTHORIZED = 401
_REMEDY = "check that the kubeconfig's address is right and can be reached from here"


async def _installed(api: ApiServer, cluster: Cluster, installed_as: str) -> str:
    """The installed settings file. Raises InputError and OSError."""
    namespace, _, name = installed_as.partition("/")
    status, found = await api.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    if status == 200:
        data = found.get("data")
        text = data.get(SETTINGS_KEY) if isinstance(data, dict) else None
        if isinstance(text, str):
            return text
        raise _error(cluster, f"ConfigMap {installed_as} has no key {SETTINGS_KEY}; name the ConfigMap of the chart")
    if status == 404:
        problem = "does not exist; name the installation: the namespace, and the name that the chart gives its objects"
    elif status == 403:
        problem = "cannot be read: " + Rule("", "configmaps", ("get",), name, namespace).missing("get")
    else:
        problem = f"cannot be read: {status} {printable(found.get('message', ''))}".rstrip()
    raise _error(cluster, f"ConfigMap {installed_as} {problem}")


def _wanted(
    cluster: Cluster, installed: FactsSettings, plugin: DevicePluginSource
) -> tuple[FactsSettings, dict[str, str]]:
    """What to read, and why the rest is left out."""
    source = installed.device_plugin or NO_PLUGIN
    source = DevicePluginSource(
        plugin.config_maps or source.config_maps,
        plugin.daemon_set or source.daemon_set,
        plugin.version or source.version,
    )
    if cluster.installed_as is None:
        installed = FactsSettings(nodes=True, namespaces=True, runtime_classes=True, device_classes=True)
    wanted = replace(installed, device_plugin=None if source == NO_PLUGIN else source)
    left_out = {}
    for key, name in PARTS.items():
        if key in cluster.without:
            wanted = replace(wanted, **{name: getattr(FactsSettings(), name)})
            left_out[key] = f"--without {key}"
        elif not getattr(wanted, name):
            left_out[key] = _NO_SOURCE if key == "devicePlugin" else _NOT_INSTALLED
    if DEFAULT_QUEUES in cluster.without:
        left_out[DEFAULT_QUEUES] = f"--without {DEFAULT_QUEUES}"
    return wanted, left_out


_NO_SOURCE = "no ConfigMap of it is named: --device-plugin-config names one"
_NOT_INSTALLED = "the installed settings do not read it either"


async def _facts(api: ApiServer, cluster: Cluster, wanted: FactsSettings, decisive: Decisive) -> Facts:
    """The parts that are wanted. Raises InputError that names all parts that cannot be read."""

    def log(_level: str, _event: str, /, **fields: object) -> None:
        tell(f"{cluster}: {fields['source']}: {fields['problem']}")

    found: dict[str, Any] = {}
    problems = []
    for key, name in PARTS.items():
        if not getattr(wanted, name):
            continue
        alone = replace(FactsSettings(), **{name: getattr(wanted, name)})
        try:
            part = await read_facts(api, alone, decisive, log)
            _verify_configs(part.device_plugin, alone.device_plugin)
            found[name] = getattr(part, name)
        except FactsError as error:
            problems.append(f"{key}: {error}; or leave it out with --without {key}")
    if DEFAULT_QUEUES not in cluster.without:
        try:
            found["default_queues"] = await default_queues(api)
        except ReadError as error:
            problems.append(f"{DEFAULT_QUEUES}: {error}; or leave it out with --without {DEFAULT_QUEUES}")
    if problems:
        raise InputError(Diagnostic(str(cluster), 0, 0, problem) for problem in problems)
    return Facts(**found)


def _verify_configs(plugin: DevicePlugin | None, source: DevicePluginSource | None) -> None:
    """Check that the named ConfigMaps hold a configuration, or a misspelled name would pass. Raises FactsError."""
    if plugin is not None and source is not None and source.config_maps and not plugin.configs:
        raise FactsError(f"{', '.join(source.config_maps)}: no configuration there; name the plugin's ConfigMap")


def _error(cluster: Cluster, message: str) -> InputError:
    return InputError([Diagnostic(str(cluster), 0, 0, message)])
