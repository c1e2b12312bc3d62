"""Options that name a running webhook, and how to reach it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click

from webhook.cli.options import file_option, with_options


class Server(NamedTuple):
    """A running webhook as the options name it: its URL, the name in its certificate, and files in PEM."""

    url: str
    name: str | None
    ca: str | None
    client_cert: str | None
    client_key: str | None


def server_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a running webhook. The command gets them as `server`, which is None without `--server`."""

    @wraps(command)
    def with_server(
        *,
        server: str | None,
        ca: str | None,
        server_name: str | None,
        client_cert: str | None,
        client_key: str | None,
        **rest: Any,
    ) -> None:
        given = {"ca": ca, "server-name": server_name, "client-cert": client_cert, "client-key": client_key}
        if server is None and (alone := [f"--{name}" for name, value in given.items() if value is not None]):
            raise click.UsageError(f"{', '.join(alone)}: needs --server URL, which names the webhook")
        if client_key is not None and client_cert is None:
            raise click.UsageError("--client-key needs --client-cert, the certificate of the key")
        named = None if server is None else Server(server, server_name, ca, client_cert, client_key)
        command(server=named, **rest)

    return with_options(
        with_server,
        click.option(
            "--server",
            metavar="URL",
            help="A running webhook, such as https://localhost:8443. Its decisions and messages count; what the "
            "local settings say differently is marked.",
        ),
        file_option(
            "--ca",
            help="The authorities that may sign the certificate of --server, in PEM. Without it, those of the system.",
        ),
        click.option(
            "--server-name",
            metavar="NAME",
            help="The name in the certificate of --server, if it is not the host of the URL.",
        ),
        file_option("--client-cert", help="A client certificate for --server, in PEM, if the webhook demands one."),
        file_option("--client-key", help="The key of --client-cert, if that file does not hold it."),
    )
