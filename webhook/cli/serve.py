"""`serve`: the webhook."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webhook.app import InstallationOptions, NotInstalledError, installed
from webhook.cli.inputs import (
    Load,
    WrongFileError,
    configuration,
    fail,
    parse,
    read_facts,
    read_standard_input_once,
)
from webhook.settings.options import Option

if TYPE_CHECKING:
    from webhook.server import File

_PORT = click.IntRange(0, 65535)


@click.command(name="serve")
@click.option("--config", metavar="FILE", help="The settings file. Without it the defaults hold.")
@click.option("--facts", metavar="FILE", help="Facts of the cluster, as a file.")
@click.option("--host", help="The address to listen on.")
@click.option("--port", type=_PORT, help="The port for reviews; 0 takes any free one.")
@click.option("--health-port", type=_PORT, help="The port for health and metrics; 0 takes any free one.")
@click.option("--tls-cert", metavar="FILE", help="The certificate, with its chain.")
@click.option("--tls-key", metavar="FILE", help="The certificate's key.")
@click.option(
    "--tls-mode",
    type=click.Choice(["files", "self-managed"]),
    help="Where the certificate comes from: the files, or the webhook itself.",
)
@click.option(
    "--installed-as",
    metavar="NAMESPACE/NAME",
    help="What the installation is called in the cluster; needed for self-managed certificates.",
)
@click.option("--kubeconfig", metavar="FILE", help="The way to the cluster, when it is not the one around the process.")
@click.option("--log-format", type=click.Choice(["json", "text"]), help="How the journal is written.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="What it holds.")
def command(
    config: str | None, facts: str | None, installed_as: str | None, kubeconfig: str | None, **options: Any
) -> None:
    """Run the webhook: reviews over HTTPS, health and metrics over HTTP. Options go before the settings file.

    \b
    Example:
      gpushare-webhook serve --tls-cert certs/tls.crt --tls-key certs/tls.key
    """
    import uvloop

    from webhook.server import Files, Server, StartError, interpreter
    from webhook.server.observe.log import EventLog
    from webhook.settings.configuration import not_in_force
    from webhook.settings.reading import load, load_facts

    read_standard_input_once(config=config, facts=facts)
    given = _given(options)
    wanted = configuration(config, given)
    log = EventLog(wanted.log.format, wanted.log.level)
    for key in not_in_force(wanted):
        log.event("warning", "setting not in force", key=key)
    known = read_facts(facts)
    files = Files(_again(config, partial(load, options=given)), _again(facts, load_facts))

    async def serve() -> None:
        server = Server(wanted, known, log, files)
        async with installed(server, wanted, InstallationOptions(installed_as, kubeconfig)):
            await server.run()

    interpreter.prepare()
    try:
        with closing(log):
            uvloop.run(serve())
    except (NotInstalledError, StartError) as error:
        fail([f"serve: {error}"])


def _again(name: str | None, load: Load[Any]) -> File | None:
    """A file that can be read again while the server runs; standard input cannot."""
    from webhook.server import File, UnusableError

    if name is None or name == "-":
        return None

    def parsed(data: bytes) -> Any:
        try:
            return parse(name, data, load)
        except WrongFileError as error:
            raise UnusableError(str(error)) from None

    return File(Path(name), parsed)


_KEYS = {
    "host": ("server", "host"),
    "port": ("server", "port"),
    "health_port": ("server", "healthPort"),
    "tls_cert": ("tls", "certFile"),
    "tls_key": ("tls", "keyFile"),
    "tls_mode": ("tls", "mode"),
    "log_format": ("log", "format"),
    "log_level": ("log", "level"),
}
"""The keys of the settings file that options override."""


def _given(options: Mapping[str, Any]) -> list[Option]:
    """The options that were given, by the keys that they override."""
    return [
        Option(f"--{name.replace('_', '-')}", *_KEYS[name], value)
        for name, value in options.items()
        if value is not None
    ]
