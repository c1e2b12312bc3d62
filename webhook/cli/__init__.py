"""The command line: one command a file, imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import shell_complete

from webhook.cli.screen import tell
from webhook.diagnostics import InputError
from webhook.runtime.exceptions import reason

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

WRONG_INPUT = 2
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
    """Run a command and exit with its code. A defect of the program is reported in one line, without a trace."""
    _occupy_closed_descriptors()
    if sys.stdout is None:
        tell("standard output is closed; redirect it to a file or to /dev/null")
        sys.exit(UNWRITTEN)
    program = Path(sys.argv[0]).name
    try:
        if asked := os.environ.get(COMPLETE):
            sys.exit(shell_complete(cli, {}, program, COMPLETE, asked))
        # click's own main would end with 1 when the output's reader is gone, and 1 means that something is denied.
        with cli.make_context(program, list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        _refuse(error)
        sys.exit(error.exit_code)
    except InputError as error:
        tell(*map(str, error.diagnostics))
        sys.exit(WRONG_INPUT)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_output()
        sys.exit(UNWRITTEN)
    except OSError as error:
        tell(f"cannot continue: {error.strerror or error}")
        _forget_output()
        sys.exit(UNWRITTEN)
    except Exception as error:
        tell(f"internal error: {reason(error)}; please report it")
        sys.exit(INTERNAL_ERROR)


def _occupy_closed_descriptors() -> None:
    """Open the null device where standard input, output or error is closed, as libc does for setuid programs.

    Otherwise the next file or socket gets the number, and what is written to the stream ends up in it.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        pass
    os.close(descriptor)


_STANDARD_ERROR = 2


def _refuse(error: click.ClickException) -> None:
    """Say what is wrong with the arguments. `ClickException.show` would print them as they are."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        tell(*error.format_message().split("\n"))
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        tell(*error.ctx.get_usage().split("\n"), f"Try '{error.ctx.command_path} --help' for help.", "")
    tell(f"Error: {' '.join(error.format_message().split())}")


def _forget_output() -> None:
    """Drop what is not written yet, so that the interpreter does not try to write it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
