"""The command line: one module for each command, imported when the command is called."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

import click
from click.shell_completion import CompletionItem, shell_complete

from webhook import __version__
from webhook.cli.completion import COMPLETE
from webhook.cli.extras import missing, require
from webhook.cli.output import discard, tell
from webhook.diagnostics import InputError
from webhook.policy.messages import printable
from webhook.report.exit_codes import ExitCode

COMMANDS = {
    "check": "Check manifests as the webhook in the cluster would, with file and line.",
    "mutate": "Print manifests with the edits that the webhook makes.",
    "why": "Explain why a pod or workload waits, fails, or runs without MPS.",
    "top": "Show who holds which GPU replicas in a cluster.",
    "audit": "Show which existing workloads the webhook would deny or warn about.",
    "plan": "Preview the effect of a change on existing workloads.",
    "doctor": "Find faults of the GPU nodes, the device plugin and the webhook.",
    "snapshot": "Write the facts of a cluster, and the installed settings, to files for check and mutate.",
    "export": "Write the guard as manifests.",
    "explain": "Explain checks and injections: meaning, reason, examples, remedy and settings.",
    "serve": "Run the webhook: reviews over HTTPS, health and metrics over HTTP.",
    "config": "Show, validate or describe the settings.",
    "version": "Print the version.",
    "completion": "Print a completion script for a shell.",
}
"""The registry: for each module whose `command` is a click command, the first line of that command's docstring.

The line stands here as well because a list of commands must not import them all: that takes three times as long.
"""

_EXTRAS = {"serve": "server"} | dict.fromkeys(("top", "audit", "plan", "doctor", "snapshot"), "cluster")
"""The extra that a command needs."""


class _Commands(click.Group):
    """The commands by name. The module of a command is imported on its call, so no command slows down another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if extra := _EXTRAS.get(cmd_name):
            if ctx.resilient_parsing and missing(extra):
                return None  # a shell completes nothing after it
            require(extra, f'the command "{cmd_name}"')
        # Modules and inputs hold no cycles: to look for some, again and again, costs up to a third of a command's time.
        gc.disable()
        ctx.call_on_close(gc.enable)
        command: click.Command = import_module(f"webhook.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from webhook.policy.settings.formats import did_you_mean

            names = self.list_commands(ctx)
            remedy = did_you_mean(name, names) or f"choose from {', '.join(names)}"
            ctx.fail(f'there is no command "{printable(name)}"; {remedy}')
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # click's own method imports every command, for its help and to learn whether it is hidden.
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


_CODES = "".join(f"\n  {code.value:<4}{code.meaning}" for code in ExitCode)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog=f"\b\nExit codes:{_CODES}",
)
@click.version_option(__version__, message="gpushare-webhook %(version)s", help="Print the version and exit.")
def cli() -> None:
    """Check and prepare pods that share NVIDIA GPUs through MPS."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code. An internal error is reported in one line, without a traceback."""
    _occupy_closed_descriptors()
    if sys.stdout is None:
        tell("standard output is closed; redirect it to a file or to /dev/null")
        sys.exit(ExitCode.WRONG_INPUT)
    if isinstance(sys.stdout, TextIOWrapper):  # what reports quote and diffs edit is UTF-8, in every locale
        sys.stdout.reconfigure(encoding="utf-8", errors=sys.stdout.errors)
    name = Path(sys.argv[0]).name
    program = {"__main__.py": "python -m webhook", "kubectl-gpushare": "kubectl gpushare"}.get(name, name)
    try:
        if asked := os.environ.get(COMPLETE):
            _complete(program, asked)
        # click's own main exits with 1 after a broken pipe, and 1 means that an object is denied.
        with cli.make_context(program, list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        _refuse(error)
        sys.exit(error.exit_code)
    except InputError as error:
        tell(*map(str, error.diagnostics))
        sys.exit(ExitCode.WRONG_INPUT)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        discard(sys.stdout)
        sys.exit(ExitCode.OUTPUT_CLOSED)
    except OSError as error:
        tell(f"cannot continue: {error.strerror or error}")
        discard(sys.stdout)
        sys.exit(ExitCode.WRONG_INPUT)
    except Exception as error:
        from webhook.runtime.exceptions import reason  # imports traceback, for a run that fails

        tell(f"internal error: {reason(error)}; please report it")
        sys.exit(ExitCode.INTERNAL_ERROR)


def _complete(program: str, instruction: str) -> NoReturn:
    """Print the completions, or the script, that a shell requests."""
    # click returns 1 for an unknown instruction, and 1 means that an object is denied.
    if shell_complete(cli, {}, program, COMPLETE, instruction) == 0:
        sys.exit(ExitCode.OK)
    tell(f'{COMPLETE}: there is no instruction "{printable(instruction)}"; unset the variable')
    sys.exit(ExitCode.WRONG_INPUT)


def _occupy_closed_descriptors() -> None:
    """Open the null device in place of a closed standard stream, as libc does for setuid programs.

    Otherwise the next file or socket gets the descriptor of the stream, and receives what is written to the stream.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        pass
    os.close(descriptor)


_STANDARD_ERROR = 2


def _refuse(error: click.ClickException) -> None:
    """Report wrong arguments. `ClickException.show` would print them unsanitised."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        tell(*error.format_message().split("\n"))
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        tell(*error.ctx.get_usage().split("\n"), f"Try '{error.ctx.command_path} --help' for help.", "")
    tell(f"Error: {' '.join(error.format_message().split())}")
