"""`completion`: a completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from webhook.cli.screen import show

_PROGRAM = "gpushare-webhook"


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script for a shell.

    \b
    Example:
      source <(gpushare-webhook completion bash)
    """
    from webhook.cli import COMPLETE, cli

    completer = get_completion_class(shell)
    if completer is None:  # pragma: no cover - the choice lists what click has
        raise AssertionError(shell)
    show(completer(cli, {}, _PROGRAM, COMPLETE).source() + "\n")
