"""`serve`: the webhook."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webhook.app import installed
from webhook.cli.options import Command, file_option, read_standard_input_once
from webhook.dryrun.files import Load, Loaded, content, parse
from webhook.settings.options import Option

if TYPE_CHECKING:
    from webhook.server.live_config import File

_PORT = click.IntRange(0, 65535)


def _setting(name: str, key: str, **rest: Any) -> Callable[[Command], Command]:
    """Return an option that overrides a key of the settings file, section.key, and is checked together with it.

    The context of the command holds the overrides as its object.
    """
    section, _, own = key.partition(".")

    def override(context: click.Context, _option: click.Parameter, value: object) -> None:
        if value is not None:
            context.ensure_object(list).append(Option(name, section, own, value))

    rest["help"] += f" Overrides {key}."
    return click.option(name, expose_value=False, callback=override, **rest)


@click.command(name="serve")
@file_option("--config", help="The settings file. Without it the defaults apply.")
@file_option("--facts", help="The facts file, which describes the cluster.")
@_setting("--host", key="server.host", metavar="ADDRESS", help="The address to listen on.")
@_setting("--port", key="server.port", metavar="PORT", type=_PORT, help="The port for reviews; 0 chooses a free one.")
@_setting(
    "--health-port",
    key="server.healthPort",
    metavar="PORT",
    type=_PORT,
    help="The port for health and metrics; 0 chooses a free one.",
)
@_setting("--tls-cert", key="tls.certFile", metavar="FILE", help="The serving certificate with its chain, PEM.")
@_setting("--tls-key", key="tls.keyFile", metavar="FILE", help="The key of the certificate, PEM.")
@_setting(
    "--tls-mode",
    key="tls.mode",
    type=click.Choice(["files", "self-managed"]),
    help="The source of the certificate: the files, or the webhook itself.",
)
@click.option(
    "--installed-as",
    metavar="NAMESPACE/NAME",
    help="The name of the installation in the cluster, whose ConfigMap the webhook follows if it calls the API server. "
    "Required for self-managed certificates.",
)
@file_option("--kubeconfig", help="How to reach the API server. Without it the in-cluster configuration applies.")
@_setting("--log-format", key="log.format", type=click.Choice(["json", "text"]), help="The format of the log.")
@_setting(
    "--log-level",
    key="log.level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="The least severe level that is logged.",
)
@click.pass_context
def command(
    context: click.Context,
    config: str | None,
    facts: str | None,
    installed_as: str | None,
    kubeconfig: str | None,
) -> None:
    """Run the webhook: reviews over HTTPS, health and metrics over HTTP.

    Options override the settings file and are checked together with it.

    \b
    Example:
      gpushare-webhook serve --tls-cert certs/tls.crt --tls-key certs/tls.key
    """
    import uvloop

    from webhook.policy.placement.node_bounds import Decisive
    from webhook.server import limits
    from webhook.server.app import Server
    from webhook.server.log import EventLog
    from webhook.settings.load import load, load_facts

    read_standard_input_once(config=config, facts=facts)
    wanted, settings_file = _loaded(config, partial(load, options=context.obj or []))
    known, facts_file = _loaded(facts, partial(load_facts, decisive=Decisive.of(wanted.settings)))
    log = EventLog(wanted.log.format, wanted.log.level)

    async def serve() -> None:
        server = Server(wanted, known, log, settings_file=settings_file, facts_file=facts_file)
        async with installed(server, wanted, installed_as, kubeconfig):
            limits.prepare()  # what a cluster needs is imported only now
            await server.run()

    with closing(log):
        uvloop.run(serve())


def _loaded(name: str | None, load: Load[Loaded]) -> tuple[Loaded, File | None]:
    """Return what a file holds, or an empty one without a name, and the file for reloads.

    Standard input cannot be read again. Raises InputError.
    """
    from webhook.server.live_config import File

    file, data = content(name)
    reloads = None if name in (None, "-") else File(Path(name), lambda new: parse(file, new, load), data)
    return parse(file, data, load), reloads
