"""`completion`: click's completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from webhook.cli.output import show

COMPLETE = "_GPUSHARE_WEBHOOK_COMPLETE"
"""The environment variable with which a shell requests completions."""

_SHELLS = {shell.name: shell for shell in (BashComplete, ZshComplete, FishComplete)}


@click.command(name="completion")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a completion script for a shell.

    \b
    Example:
      source <(gpushare-webhook completion bash)
    """
    show(_SHELLS[shell](context.find_root().command, {}, "gpushare-webhook", COMPLETE).source() + "\n")
