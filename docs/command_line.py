"""The page of the command line, from the click commands, the exit codes and a part in prose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent
from typing import Any

import click

from webhook.cli import COMMANDS, cli
from webhook.report.exit_codes import ExitCode

_Row = tuple[str, str]
"""An option with its value, and its description."""

PROGRAM = "gpushare-webhook"
EXAMPLES = {
    "serve": "serves: http://127.0.0.1:8080/readyz",
    "snapshot": "run: cluster",
    "why": "exits: 2 2 2",
}
"""The comments before the examples of commands: see "Show commands" in CONTRIBUTING.md."""
PROSE = Path(__file__).parent / "prose" / "command-line.md"
HEAD = f"""\
# Command line

This page lists each command with its options, and the rules that several commands share. The program is installed as
`{PROGRAM}` and as the kubectl plugin `kubectl gpushare`; `--help` prints the part of each command.
"""
SHARED = """\
## Options of several commands
"""
CODES = """\
## Exit codes

Where several of the codes 0 to 3 apply, the highest wins: all readable inputs are still checked and reported. A wrong
value in a readable object is a finding (1). An object whose structure is not that of its kind, such as a pod with
`containers: {}`, is malformed (2).

Commands about a live cluster exit with 2 if they could not read something that their answer depends on; `why` only if
it finds no cause. Otherwise 1 means: `audit` denies, `plan` gets worse, `doctor` has findings, `why` finds a cause.
Parts that `--without` names, Secrets and `pods/proxy` do not count, nor for `doctor` the objects of a guard where the
settings have none and Helm manages the release.
"""


def page() -> str:
    """Return the whole page."""
    context = click.Context(cli, info_name=PROGRAM, **cli.context_settings)
    found = dict(_commands(context))
    users = _users(found)
    sections = (part for path, command in found.items() for part in _section(path, command, users))
    codes = "".join(f"- **{code.value}**: {code.meaning}\n" for code in ExitCode)
    parts = [HEAD, *sections, *_shared(users), CODES, codes, PROSE.read_text(encoding="utf-8")]
    return "\n".join(parts)


def _commands(context: click.Context) -> Iterator[tuple[str, _Command]]:
    """Yield each command and subcommand, by its path without the name of the program."""
    group = context.command
    names = COMMANDS if group is cli else group.commands if isinstance(group, click.Group) else ()
    for name in names:
        command = group.get_command(context, name) if isinstance(group, click.Group) else None
        if command is not None:
            below = click.Context(command, parent=context, info_name=name)
            yield below.command_path.removeprefix(f"{PROGRAM} "), _Command(command, below)
            yield from _commands(below)


def _users(commands: dict[str, _Command]) -> dict[_Row, list[str]]:
    """Return the options that several commands have in the same form, with the commands."""
    users: dict[_Row, list[str]] = {}
    for path, command in commands.items():
        for row in command.rows().values():
            users.setdefault(row, []).append(path)
    return {row: paths for row, paths in users.items() if len(paths) > 1}


def _section(path: str, command: _Command, users: dict[_Row, list[str]]) -> Iterator[str]:
    """Yield the section of a command: its arguments, its description, its own options, and those that it shares."""
    usage = command.command.collect_usage_pieces(command.context)
    yield f"{'#' * (2 + path.count(' '))} {path}\n"
    if usage != ["[OPTIONS]"] and not isinstance(command.command, click.Group):
        yield f"`{' '.join([command.context.command_path, *usage])}`\n"
    yield from _description(command.command.help or "", EXAMPLES.get(path))
    rows = command.rows()
    own = [row for row in rows.values() if row not in users]
    if own:
        yield "".join(f"- **{option}**: {description}\n" for option, description in own)
    shared = [f"`{name}`" for name, row in rows.items() if row in users]
    if shared:
        yield f"[Shared options](#options-of-several-commands): {', '.join(shared)}.\n"


def _shared(users: dict[_Row, list[str]]) -> Iterator[str]:
    """Yield the options that several commands have, with the commands where an option has two meanings."""
    yield SHARED
    names = Counter(option for option, _ in users)
    for (option, description), paths in users.items():
        only = f" ({', '.join(paths)})" if names[option] > 1 else ""
        yield f"- **{option}**{only}: {description}"
    yield ""


@dataclass(frozen=True, slots=True)
class _Command:
    """A command, and the context in which click describes it."""

    command: click.Command
    context: click.Context

    def rows(self) -> dict[str, _Row]:
        """Return the rows of its options, by the shortest name of each."""
        options = [option for option in self.command.params if isinstance(option, click.Option)]
        return {min(option.opts, key=len): _option(option, self.context) for option in options}


def _description(text: str, comment: str | None) -> Iterator[str]:
    """Yield a docstring as Markdown: paragraphs, and the examples as a block of shell commands behind a comment."""
    for paragraph in cleandoc(text).split("\n\n"):
        title, _, lines = paragraph.removeprefix("\b\n").partition("\n")
        if title.startswith("Example"):
            before = f"<!-- {comment} -->\n" if comment else ""
            yield f"{title}\n\n{before}```sh\n{dedent(lines).strip()}\n```\n"
        else:
            yield paragraph + "\n"


def _option(option: click.Option, context: click.Context) -> _Row:
    """Return the names of an option with its value, and its description with what applies without it."""
    *short, last = option.opts
    value = "" if option.is_flag else f" {_metavar(option, context)}"
    default = _default(option)
    return ", ".join(f"`{name}`" for name in [*short, last + value]), f"{option.help or ''} {default}".strip()


def _metavar(option: click.Option, context: click.Context) -> str:
    """Return the value of an option, without the brackets that click puts around choices."""
    metavar = option.make_metavar(context)
    return metavar[1:-1] if metavar.startswith("[") else metavar


def _default(option: click.Option) -> str:
    """Return a sentence on what applies without the option, unless its description names the setting that does."""
    if option.required:
        return "Required."
    if not option.show_default:
        return ""
    fixed: Any = option.default
    values = fixed if option.multiple else (fixed,)
    return f"Default: {', '.join(f'`{one}`' for one in values)}."


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
