"""`completion`: a completion script for a shell, or for `kubectl gpushare`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

import webhook.cli.shells  # noqa: F401 - it adds shells
from webhook.cli.screen import show

_PROGRAM = "gpushare-webhook"


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
def command(shell: str) -> None:
    """Print a completion script for a shell, or for kubectl.

    The script for kubectl completes the words after `kubectl gpushare`: save it on PATH as kubectl_complete-gpushare,
    and make it executable.

    \b
    Example:
      source <(gpushare-webhook completion bash)
    """
    from webhook.cli import COMPLETE, cli

    completer = get_completion_class(shell)
    if completer is None:  # pragma: no cover - the choice lists what click has, and kubectl
        raise AssertionError(shell)
    show(completer(cli, {}, _PROGRAM, COMPLETE).source() + "\n")
