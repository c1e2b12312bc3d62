"""The command line: one command a file, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

_COMMANDS = {
    "check": "Say what the cluster would say of manifests, with file and line.",
    "mutate": "Show manifests with the edits that the webhook makes.",
    "explain": "Tell what a check or an injection means, why it is there and what to do.",
    "serve": "Run the webhook.",
    "config": "Show, validate or describe the settings.",
    "version": "Print the version.",
    "completion": "Print a script that completes commands in a shell.",
}

INTERNAL_ERROR = 3


class _Commands(click.Group):
    """The commands by name; a module is imported when its command is called, so that none pays for another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"webhook.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Check and prepare pods that share NVIDIA GPUs through MPS.

    Exit codes: 0 nothing denied, 1 something denied, 2 wrong usage, input or settings, 3 internal error.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code. A defect of ours is told in one line, without a trace."""
    try:
        cli.main(arguments, prog_name=Path(sys.argv[0]).name)
    except Exception as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame is not None else "unknown"
        click.echo(f"internal error: {type(error).__name__} at {place}: {error}; please report it", err=True)
        sys.exit(INTERNAL_ERROR)
