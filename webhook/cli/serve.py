"""`serve`: the webhook."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webhook.cli.inputs import Load, WrongFileError, configuration, fail, parse, read_facts
from webhook.cli.installed import NotInstalledError, Place, installed

if TYPE_CHECKING:
    from webhook.server import File
    from webhook.settings.configuration import Configuration

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
    from webhook.server.journal import Journal
    from webhook.settings.configuration import not_in_force
    from webhook.settings.reading import load, load_facts

    def over(said: Configuration) -> Configuration:
        """What a settings file says, with the options before it."""
        return replace(
            said,
            server=_over(said.server, host=options["host"], port=options["port"], health_port=options["health_port"]),
            tls=_over(said.tls, mode=options["tls_mode"], cert_file=options["tls_cert"], key_file=options["tls_key"]),
            log=_over(said.log, format=options["log_format"], level=options["log_level"]),
        )

    wanted = over(configuration(config))
    journal = Journal(wanted.log.format, wanted.log.level)
    for key in not_in_force(wanted):
        journal.say("warning", "setting not in force", key=key)
    known = read_facts(facts)
    files = Files(_again(config, lambda *document: over(load(*document))), _again(facts, load_facts))

    async def serve() -> None:
        server = Server(wanted, known, journal, files)
        async with installed(server, wanted, Place(installed_as, kubeconfig)):
            await server.run()

    interpreter.prepare()
    try:
        with closing(journal):
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


def _over(part: Any, **given: Any) -> Any:
    """The part of the settings with the options that were given."""
    return replace(part, **{name: value for name, value in given.items() if value is not None})
