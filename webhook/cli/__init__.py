"""The command line: one command a file, imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import shell_complete

from webhook.beside.failure import reason

_COMMANDS = {
    "check": "Say what the cluster would say of manifests, with file and line.",
    "mutate": "Show manifests with the edits that the webhook makes.",
    "explain": "Tell what a check or an injection means, why it is there and what to do.",
    "serve": "Run the webhook.",
    "config": "Show, validate or describe the settings.",
    "version": "Print the version.",
    "completion": "Print a script that completes commands in a shell.",
}

COMPLETE = "_GPUSHARE_WEBHOOK_COMPLETE"
"""The variable by which a shell asks for completions."""

UNWRITTEN = 2
"""The output could not be written: its reader is gone, or the disk is full."""

INTERNAL_ERROR = 3
INTERRUPTED = 130


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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def cli() -> None:
    """Check and prepare pods that share NVIDIA GPUs through MPS.

    Exit codes: 0 nothing denied, 1 something denied, 2 wrong usage, input or settings, 3 internal error.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code. A defect of ours is told in one line, without a trace."""
    program = Path(sys.argv[0]).name
    if asked := os.environ.get(COMPLETE):
        sys.exit(shell_complete(cli, {}, program, COMPLETE, asked))
    try:
        # click's own main would end with 1 when the output's reader is gone, and 1 means that something is denied.
        with cli.make_context(program, list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_output()
        sys.exit(UNWRITTEN)
    except OSError as error:
        click.echo(f"cannot go on: {error.strerror or error}", err=True)
        _forget_output()
        sys.exit(UNWRITTEN)
    except Exception as error:
        click.echo(f"internal error: {reason(error)}; please report it", err=True)
        sys.exit(INTERNAL_ERROR)


def _forget_output() -> None:
    """Nobody reads what is left, so the interpreter must not try to write it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
