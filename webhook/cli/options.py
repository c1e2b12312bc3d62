"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from webhook.policy.settings.formats import refusal
from webhook.policy.settings.names import NAMESPACE

Command = TypeVar("Command", bound=Callable[..., Any])


def _files(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


file_option = partial(click.option, metavar="FILE", shell_complete=_files)
"""An option whose value is the name of a file."""


def manifest_options(command: Command) -> Command:
    """Add the options of `check` and `mutate` that name manifests, settings and facts."""
    for option in (
        file_option("--facts", help="The facts file, which describes a cluster."),
        file_option("--config", help="The settings file. Without it the defaults apply."),
        click.option(
            "-n",
            "--namespace",
            metavar="NAME",
            default="",
            callback=_namespace,
            help="The namespace of objects that do not name one.",
        ),
        click.option("-R", "--recursive", is_flag=True, help="Read folders with all folders below them."),
        file_option(
            "-f",
            "--filename",
            "filenames",
            metavar="FILE|DIR|-",
            multiple=True,
            required=True,
            help="A file, a folder (one level), or - for standard input. Repeatable.",
        ),
    ):
        command = option(command)
    return command


def format_option(default: Enum, description: str) -> Callable[[Command], Command]:
    """Return the option `-o` that chooses from the formats in the enum of the default."""
    formats = type(default)
    return click.option(
        "-o",
        "--output",
        type=click.Choice([one.value for one in formats]),
        default=default.value,
        show_default=True,
        callback=lambda _context, _option, value: formats(value),
        help=description,
    )


def _namespace(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return the name, or empty text. Raises BadParameter for a name that no namespace can have."""
    if value and not NAMESPACE.allows(value):
        raise click.BadParameter(refusal(NAMESPACE, value))
    return value


def read_standard_input_once(**given: str | Sequence[str] | None) -> None:
    """Check that at most one option names standard input, which can be read once. Raises UsageError.

    The arguments are the values of options by the options' names without dashes.
    """
    naming = [
        f"{'-' if len(name) == 1 else '--'}{name} -"
        for name, values in given.items()
        for value in ([values] if isinstance(values, str) else values or ())
        if value == "-"
    ]
    if len(naming) > 1:
        raise click.UsageError(f"{' and '.join(naming)}: standard input can be read only once; name a file instead")
