"""The page of the command line, from the click commands, the exit codes and a part in prose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent
from typing import Any

import click

from webhook.cli import COMMANDS, cli
from webhook.cli.serve import SettingOption
from webhook.report.exit_codes import ExitCode
from webhook.settings.configuration import default, view

PROGRAM = "gpushare-webhook"
EXAMPLES = {"serve": "serves: http://127.0.0.1:8080/readyz", "snapshot": "run: cluster", "why": "exits: 2 2 2"}
"""The comments before the examples of commands: see "Show commands" in CONTRIBUTING.md."""
PROSE = Path(__file__).parent / "prose" / "command-line.md"
HEAD = f"""\
# Command line

Generated from the code by `make docs`. The program is installed as `{PROGRAM}` and as the kubectl plugin
`kubectl gpushare`. The option `--help` of each command prints the same, and `--version` prints the version.
"""
CODES = """\
## Exit codes

Where several of the codes 0 to 3 apply, the highest wins: all readable inputs are still checked and reported. A wrong
value in a readable object is a finding (1). An object whose structure is not that of its kind, such as a pod with
`containers: {}`, is malformed (2).
"""


def page() -> str:
    """Return the whole page."""
    context = click.Context(cli, info_name=PROGRAM, **cli.context_settings)
    commands = table(("command", "description"), [(f"[`{name}`](#{name})", text) for name, text in COMMANDS.items()])
    codes = table(("code", "meaning"), [(str(code.value), code.meaning) for code in ExitCode])
    parts = [HEAD, commands, *_commands(context), CODES, codes, PROSE.read_text(encoding="utf-8")]
    return "\n".join(parts)


def _commands(context: click.Context) -> Iterator[str]:
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if command is not None:
            yield from _command(command, click.Context(command, parent=context, info_name=name), "##")


def _command(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    """Yield the section of a command, and those of its subcommands one level deeper."""
    path = context.command_path.removeprefix(f"{PROGRAM} ")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{heading} {path}\n"
    yield f"```text\n{usage}\n```\n"
    yield from _description(command.help or "", EXAMPLES.get(path))
    options = [_option(one, context) for one in command.params if isinstance(one, click.Option)]
    if options:
        yield table(("option", "value", "default", "description"), options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.commands[name]
            yield from _command(inner, click.Context(inner, parent=context, info_name=name), f"{heading}#")


def _description(text: str, comment: str | None) -> Iterator[str]:
    """Yield a docstring as Markdown: paragraphs, and the examples as a block of shell commands behind a comment."""
    for paragraph in cleandoc(text).split("\n\n"):
        title, _, lines = paragraph.removeprefix("\b\n").partition("\n")
        if title.startswith("Example"):
            before = f"<!-- {comment} -->\n" if comment else ""
            yield f"{title}\n\n{before}```sh\n{dedent(lines).strip()}\n```\n"
        else:
            yield paragraph + "\n"


def _option(option: click.Option, context: click.Context) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    value = "" if option.is_flag else f"`{_metavar(option, context)}`"
    return names, value, _default(option), option.help or ""


def _metavar(option: click.Option, context: click.Context) -> str:
    """Return the value of an option, without the brackets that click puts around choices."""
    metavar = option.make_metavar(context)
    return metavar[1:-1] if metavar.startswith("[") else metavar


def _default(option: click.Option) -> str:
    """Return what applies without the option: for a setting, the default of its key."""
    if option.required:
        return "*required*"
    if isinstance(option, SettingOption):
        section, _, key = option.key.partition(".")
        value: Any = view(default())[section][key]
        return "" if value is None else f"`{value}`"
    if not option.show_default:
        return ""
    fixed: Any = option.default
    return ", ".join(f"`{one}`" for one in fixed) if option.multiple else f"`{fixed}`"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
