"""`serve`: the webhook."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webhook.app import installed
from webhook.cli.options import file_option, read_standard_input_once
from webhook.dryrun.files import Load, Loaded, content, parse
from webhook.settings.options import Option

if TYPE_CHECKING:
    from webhook.server.live_config import File

_PORT = click.IntRange(0, 65535)


class SettingOption(click.Option):
    """An option that overrides a key of the settings file and is checked together with it. `key` is section.key.

    The context of the command holds the overrides as its object.
    """

    def __init__(self, names: Sequence[str], *, key: str, **rest: Any) -> None:
        self.key = key
        rest["help"] = f"{rest['help']} Overrides {key}."
        super().__init__(names, expose_value=False, callback=self._override, **rest)

    def _override(self, context: click.Context, _option: click.Parameter, value: object) -> None:
        if value is not None:
            section, _, key = self.key.partition(".")
            context.ensure_object(list).append(Option(self.opts[0], section, key, value))


_setting = partial(click.option, cls=SettingOption)


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

    if name is None:
        return parse("", b"", load), None
    file, data = content(name)
    return parse(file, data, load), None if name == "-" else File(Path(name), lambda new: parse(file, new, load), data)
