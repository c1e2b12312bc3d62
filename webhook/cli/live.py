"""A live cluster as the input of a command: its facts, and the settings of the webhook that is installed there.

Only a command that reads a cluster imports this module: the client takes half a second to import.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar

from webhook.cli.options import ALL_PARTS, DEFAULT_QUEUES, PARTS, Cluster
from webhook.cli.output import tell
from webhook.cluster import nodes
from webhook.cluster.api_server import ApiServer
from webhook.cluster.classes import default_queues
from webhook.cluster.client import ClusterError, connect
from webhook.cluster.facts import read_facts
from webhook.cluster.followed import KEY, USUAL
from webhook.cluster.objects import CONFIG_MAP, LeftOut, ReadError, Rule
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import parse
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.settings import FactsSettings, Settings
from webhook.settings.load import load

Result = TypeVar("Result")


class Live(NamedTuple):
    """What was read of a cluster. `settings_file` is the text of the installed settings file.

    `left_out` names each part of the facts that was not read by its key in the facts file, and says why.
    """

    facts: Facts
    settings: Settings
    settings_file: str | None
    left_out: Sequence[LeftOut]


def read(cluster: Cluster, settings: Settings) -> Live:
    """Read a cluster. `settings` apply unless the installed ones are read.

    Raises InputError, with one diagnostic for each part that cannot be read.
    """
    return run(cluster, _read(cluster, settings))


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


async def _read(cluster: Cluster, settings: Settings) -> Live:
    async with opened(cluster) as api:
        text, unnamed = None, {"devicePlugin": _NO_SOURCE}
        if cluster.installed_as is not None:
            text = await _installed(api, cluster, cluster.installed_as)
            settings = _parsed(cluster.installed_as, text)
            unnamed = {**dict.fromkeys(PARTS, _NOT_INSTALLED), **unnamed}
        lacking = {key: why for key, why in unnamed.items() if not getattr(settings.facts, PARTS[key])}
        found, problems, left_out = await _facts(
            api, cluster, settings, [one for one in ALL_PARTS if one not in lacking]
        )
        if problems:
            remedy = "or leave it out with --without"
            raise InputError(
                Diagnostic(str(cluster), 0, 0, f"{key}: {problem}; {remedy} {key}") for key, problem in problems.items()
            )
        left_out += [LeftOut(key, why) for key, why in lacking.items()]
        return Live(found, settings, text, sorted(left_out, key=lambda one: ALL_PARTS.index(one.what)))


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


async def read_allowed(api: ApiServer, cluster: Cluster, parts: Collection[str] = ALL_PARTS) -> Live:
    """Read what the caller's rights allow: the settings of the installation, or the defaults, and parts of the facts.

    `left_out` names each part that cannot be read, with the missing rule. Raises InputError where --installed-as names
    an installation that cannot be read.
    """
    text, settings, of_settings, name = None, Settings(), [], cluster.installed_as or USUAL
    try:
        text = await _installed(api, cluster, name)
        settings = _parsed(name, text)
    except InputError as error:
        if cluster.installed_as is not None and text is None:
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
    found, problems, left_out = await _facts(api, cluster, settings, parts)
    left_out += [LeftOut(part, why) for part, why in problems.items()]
    unread = (one for one in found.nodes or () if nodes.is_unread(one))
    return found, [*left_out, *(LeftOut(f"node {one.name}", nodes.problem(one, "resources")) for one in unread)]


_UNAUTHORIZED = 401
_REMEDY = "check that the kubeconfig's address is right and can be reached from here"


async def _installed(api: ApiServer, cluster: Cluster, installed_as: str) -> str:
    """Return the text of the installed settings. Raises InputError and OSError."""
    namespace, _, name = installed_as.partition("/")
    status, found = await api.request("GET", CONFIG_MAP.path(namespace, name))
    if status == 200:
        data = found.get("data")
        text = data.get(KEY) if isinstance(data, dict) else None
        if isinstance(text, str):
            return text
        raise _error(cluster, f"ConfigMap {installed_as} has no key {KEY}; name the ConfigMap of the chart")
    if status == 404:
        remedy = "name the installation: the namespace, and the name that the chart gives its objects"
        message = f"ConfigMap {installed_as} does not exist; {remedy}"
        raise _NotInstalledError.of(str(cluster), message)
    if status == 403:
        why = Rule(CONFIG_MAP, ("get",), namespace, name).missing("get")
    else:
        why = f"{status} {printable(found.get('message', ''))}".rstrip()
    raise _error(cluster, f"ConfigMap {installed_as} cannot be read: {why}")


def _parsed(installed_as: str, text: str) -> Settings:
    """The settings of a text. Raises InputError if they are refused."""
    return parse(f"ConfigMap {installed_as}", text.encode(), load).settings


_NO_SOURCE = "no ConfigMap of it is named: name it in facts.devicePlugin of a file for --config"
_NOT_INSTALLED = "the installed settings do not read it either"


async def _facts(
    api: ApiServer, cluster: Cluster, settings: Settings, parts: Collection[str]
) -> tuple[Facts, dict[str, str], list[LeftOut]]:
    """The parts of the facts, by its key why a part cannot be read, and the parts that options leave out."""

    def log(_level: str, _event: str, /, **fields: object) -> None:
        tell(f"{cluster}: {fields['source']}: {fields['problem']}")

    found: dict[str, Any] = {}
    problems: dict[str, str] = {}
    left_out: list[LeftOut] = []
    source, decisive = settings.facts.device_plugin, Decisive.of(settings)
    for key in (one for one in ALL_PARTS if one in parts):
        try:
            if key in cluster.without:
                left_out.append(LeftOut(key, f"--without {key}", matters=False))
                continue
            if key == DEFAULT_QUEUES:
                found["default_queues"] = await default_queues(api)
                continue
            name = PARTS[key]
            alone: dict[str, Any] = {name: source if key == "devicePlugin" else True}
            part = await read_facts(api, FactsSettings(**alone), decisive, log)
            plugin = part.device_plugin
            if plugin is not None and source is not None and source.config_maps and not plugin.configs:
                # A misspelled name would pass.
                names = ", ".join(source.config_maps)
                raise ReadError(f"{names}: no configuration there; name the plugin's ConfigMap")  # noqa: TRY301
            found[name] = getattr(part, name)
        except ReadError as error:
            problems[key] = str(error)
    return Facts(**found), problems, left_out


def _error(cluster: Cluster, message: str) -> InputError:
    return InputError.of(str(cluster), message)
