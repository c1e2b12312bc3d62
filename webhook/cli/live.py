"""A live cluster as the input of a command: its facts, and the settings of the webhook that is installed there.

Only a command that reads a cluster imports this module: the client takes half a second to import.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from webhook.cli.options import ALL_PARTS, DEFAULT_QUEUES, PARTS, Cluster
from webhook.cli.output import tell
from webhook.cluster import nodes
from webhook.cluster.api_server import ApiServer, Rule
from webhook.cluster.client import ClusterError, connect
from webhook.cluster.facts import FactsError, read_facts
from webhook.cluster.objects import CONFIG_MAP, LeftOut, ReadError
from webhook.cluster.queues import default_queues
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import parse
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings, Settings
from webhook.settings.load import load

Result = TypeVar("Result")

SETTINGS_KEY = "settings.yaml"
"""The key of the chart's ConfigMap under which the settings file is."""

NO_PLUGIN = DevicePluginSource()
"""Nothing that names the device plugin."""


@dataclass(frozen=True, slots=True)
class Live:
    """What was read of a cluster. `settings_file` is the text of the installed settings file.

    `left_out` names each part of the facts that was not read by its key in the facts file, and says why.
    """

    facts: Facts
    settings: Settings
    settings_file: str | None
    left_out: Sequence[LeftOut]


def read(cluster: Cluster, settings: Settings, plugin: DevicePluginSource = NO_PLUGIN) -> Live:
    """Read a cluster. `settings` apply unless the installed ones are read; `plugin` overrides theirs, key by key.

    Raises InputError, with one diagnostic for each part that cannot be read.
    """
    return run(cluster, _read(cluster, settings, plugin))


def run(cluster: Cluster, reading: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that reads a cluster. What the client's library logs becomes the command's own lines."""
    handler = _Lines(cluster)
    logging.getLogger().addHandler(handler)
    try:
        return asyncio.run(reading)
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
    async with opened(cluster) as api:
        text = None
        if cluster.installed_as is not None:
            text, settings = await _installed(api, cluster, cluster.installed_as)
        wanted, left_out = _wanted(cluster, settings.facts, plugin)
        found, problems = await _facts(api, cluster, wanted, Decisive.of(settings))
        if problems:
            remedy = "or leave it out with --without"
            raise InputError(
                Diagnostic(str(cluster), 0, 0, f"{key}: {problem}; {remedy} {key}") for key, problem in problems.items()
            )
        return Live(found, settings, text, [LeftOut(part, why) for part, why in left_out.items()])


@asynccontextmanager
async def opened(cluster: Cluster) -> AsyncIterator[ApiServer]:
    """Connect to a cluster that answers and knows the caller. Raises InputError, also for what fails inside."""
    try:
        api = await connect(cluster.kubeconfig, cluster.context)
    except ClusterError as error:
        raise _error(cluster, str(error)) from None
    try:
        status, _ = await api.request("GET", "/version")
        if status == _UNAUTHORIZED:  # each part would fail for it
            raise _error(cluster, "the API server does not accept the credentials; log in again, then retry")
        yield api
    except OSError as error:
        raise _error(cluster, f"cannot be read: {error}; {_REMEDY}") from None
    finally:
        await api.close()


USUAL = "gpushare-webhook/gpushare-webhook"
"""The installation that the pages lead to, whose settings apply where no other is named."""


async def read_allowed(api: ApiServer, cluster: Cluster, parts: Collection[str] = ALL_PARTS) -> Live:
    """Read what the caller's rights allow: the settings of the installation, or the defaults, and parts of the facts.

    `left_out` names each part that cannot be read, with the missing rule. Raises InputError where --installed-as names
    an installation that cannot be read.
    """
    text, settings, of_settings = None, Settings(), []
    try:
        text, settings = await _installed(api, cluster, cluster.installed_as or USUAL)
    except InputError as error:
        if cluster.installed_as is not None:
            raise
        why = f"{error.diagnostics[0].message}; the defaults apply"
        of_settings.append(LeftOut("settings", why, matters=not isinstance(error, _NotInstalledError)))
    found, left_out = await read_parts(api, cluster, settings, parts)
    return Live(found, settings, text, [*left_out, *of_settings])


class _NotInstalledError(InputError):
    """There is no installation under the usual name, so that the defaults are those of an installation."""


async def read_parts(
    api: ApiServer, cluster: Cluster, settings: Settings, parts: Collection[str]
) -> tuple[Facts, list[LeftOut]]:
    """Read parts of the facts as far as rights allow, and say why the others of these parts are not read."""
    asked = cluster._replace(installed_as=None, without=cluster.without.union(set(ALL_PARTS) - set(parts)))
    wanted, _ = _wanted(asked, settings.facts, NO_PLUGIN)
    found, problems = await _facts(api, asked, wanted, Decisive.of(settings))
    left_out = [LeftOut(part, f"--without {part}", matters=False) for part in sorted(cluster.without & set(parts))]
    left_out += [LeftOut(part, why) for part, why in problems.items()]
    unread = (one for one in found.nodes or () if nodes.is_unread(one))
    return found, [*left_out, *(LeftOut(f"node {one.name}", nodes.problem(one, "resources")) for one in unread)]


_UNAUTHORIZED = 401
_REMEDY = "check that the kubeconfig's address is right and can be reached from here"


async def _installed(api: ApiServer, cluster: Cluster, installed_as: str) -> tuple[str, Settings]:
    """Return the installed settings file and its settings. Raises InputError and OSError."""
    namespace, _, name = installed_as.partition("/")
    status, found = await api.request("GET", CONFIG_MAP.path(namespace, name))
    if status == 200:
        data = found.get("data")
        text = data.get(SETTINGS_KEY) if isinstance(data, dict) else None
        if isinstance(text, str):
            return text, parse(f"ConfigMap {installed_as}", text.encode(), load).settings
        raise _error(cluster, f"ConfigMap {installed_as} has no key {SETTINGS_KEY}; name the ConfigMap of the chart")
    if status == 404:
        remedy = "name the installation: the namespace, and the name that the chart gives its objects"
        message = f"ConfigMap {installed_as} does not exist; {remedy}"
        raise _NotInstalledError([Diagnostic(str(cluster), 0, 0, message)])
    if status == 403:
        why = Rule("", "configmaps", ("get",), name, namespace).missing("get")
    else:
        why = f"{status} {printable(found.get('message', ''))}".rstrip()
    raise _error(cluster, f"ConfigMap {installed_as} cannot be read: {why}")


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


async def _facts(
    api: ApiServer, cluster: Cluster, wanted: FactsSettings, decisive: Decisive
) -> tuple[Facts, dict[str, str]]:
    """The parts that are wanted, and by its key why a part cannot be read."""

    def log(_level: str, _event: str, /, **fields: object) -> None:
        tell(f"{cluster}: {fields['source']}: {fields['problem']}")

    found: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for key, name in PARTS.items():
        if not getattr(wanted, name):
            continue
        alone = replace(FactsSettings(), **{name: getattr(wanted, name)})
        try:
            part = await read_facts(api, alone, decisive, log)
            source, plugin = alone.device_plugin, part.device_plugin
            if plugin is not None and source is not None and source.config_maps and not plugin.configs:
                # A misspelled name would pass.
                names = ", ".join(source.config_maps)
                raise FactsError(f"{names}: no configuration there; name the plugin's ConfigMap")  # noqa: TRY301
            found[name] = getattr(part, name)
        except FactsError as error:
            problems[key] = str(error)
    if DEFAULT_QUEUES not in cluster.without:
        try:
            found["default_queues"] = await default_queues(api)
        except ReadError as error:
            problems[DEFAULT_QUEUES] = str(error)
    return Facts(**found), problems


def _error(cluster: Cluster, message: str) -> InputError:
    return InputError([Diagnostic(str(cluster), 0, 0, message)])
