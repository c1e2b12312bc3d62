"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial, wraps
from inspect import signature
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from webhook.cli.outputs import STDOUT
from webhook.dryrun.inputs import Inputs
from webhook.policy.messages import printable

if TYPE_CHECKING:
    from webhook.policy.settings.formats import Format

Command = TypeVar("Command", bound=Callable[..., Any])


def complete_files(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


def single_option(
    *names: str, callback: Callable[[click.Context, click.Parameter, Any], Any] | None = None, **attributes: Any
) -> Callable[[Command], Command]:
    """Return an option that may be given once. Of two values the last one would win, wherever its word comes from."""

    def only(context: click.Context, option: click.Parameter, values: tuple[Any, ...]) -> Any:
        if len(values) > 1:
            raise click.BadParameter(f"given {len(values)} times; give it once")
        value = values[0] if values else None
        return value if callback is None else callback(context, option, value)

    if "default" in attributes:
        attributes["default"] = [attributes["default"]]
    return click.option(*names, multiple=True, callback=only, **attributes)


file_option = partial(single_option, metavar="FILE", shell_complete=complete_files)
"""An option whose value is the name of a file."""


def option_group(
    name: str, build: Callable[..., Any], *options: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options. The command gets as `name` what `build` makes of their values."""
    own = signature(build).parameters

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def grouped(**values: Any) -> None:
            command(**{name: build(**{field: values.pop(field) for field in own})}, **values)

        decorated: Callable[..., None] = grouped
        for option in reversed(options):  # in the order in which the help lists them
            decorated = option(decorated)
        return decorated

    return with_options


_FORCE_EXCLUDE = "--force-exclude"


class ManifestCommand(click.Command):
    """A command with `manifest_options`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command. Raises UsageError for an option that is the name of a file.

        Tools such as pre-commit append the names of files to the words of their user, without `--` in between. The
        author of a file called `--config=x.yaml` would choose the settings.
        """
        if _FORCE_EXCLUDE in args and not ctx.resilient_parsing:
            for word in takewhile(lambda word: word != "--" or os.path.lexists(word), args):
                if word.startswith("-") and os.path.lexists(word):
                    name = printable(word)
                    remedy = f'rename it, or name it "./{name}", so that it is no option'
                    raise click.UsageError(f'"{name}" is a file here; {remedy}')
        return super().parse_args(ctx, args)


def formatted(form: Format) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback of an option whose values, one or several, have a format. Raises BadParameter."""

    def verified(_context: click.Context, _option: click.Parameter, value: Any) -> Any:
        for one in value if isinstance(value, tuple) else (value,):
            if one is not None and not form.allows(one):
                from webhook.policy.settings.formats import refusal  # only for what is wrong

                raise click.BadParameter(refusal(form, one))
        return value

    return verified


def namespace_name(context: click.Context, option: click.Parameter, value: str) -> str:
    """Return the name, or empty text. Raises BadParameter for a name that no namespace can have."""
    if not value:
        return value
    from webhook.policy.settings.formats import NAMESPACE  # most runs need no formats

    name: str = formatted(NAMESPACE)(context, option, value)
    return name


def _inputs(
    *, files: tuple[str, ...], filenames: tuple[str, ...], exclude: tuple[str, ...], force_exclude: bool, namespace: str
) -> Inputs:
    names = (*files, *filenames)
    if not names:
        raise click.UsageError("name a file, a folder, or - for standard input")
    return Inputs(names, exclude, force_exclude, namespace)


manifest_options = option_group(
    "inputs",
    _inputs,
    click.argument("files", metavar="[FILE|DIR|-]...", nargs=-1, shell_complete=complete_files),
    click.option(
        "-f",
        "--filename",
        "filenames",
        metavar="FILE|DIR|-",
        shell_complete=complete_files,
        multiple=True,
        help="A file, a folder with all below it, a quoted pattern, or - for standard input. Repeatable.",
    ),
    click.option(
        "-R",
        "--recursive",
        is_flag=True,
        expose_value=False,
        help="Accepted, as by kubectl. It changes nothing.",
    ),
    click.option(
        _FORCE_EXCLUDE,
        is_flag=True,
        help="Skip a named file where it would be skipped in a folder, for tools that name the changed files.",
    ),
    click.option(
        "--exclude",
        metavar="PATTERN",
        multiple=True,
        help="Paths that are not read, as a line in .gitignore. Repeatable.",
    ),
    single_option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        callback=namespace_name,
        help="The namespace of objects that do not name one.",
    ),
)
"""Adds the arguments and options that name manifests. The command gets them as `inputs`."""

OutputFormat = TypeVar("OutputFormat", bound=Enum)


class Output(NamedTuple, Generic[OutputFormat]):
    """A format, and the file that gets it; `-` is standard output."""

    format: OutputFormat
    file: str


class _OutputType(click.ParamType["Output[Any]"]):
    """FORMAT or FORMAT=FILE, with the formats of an enum."""

    name = "output"

    def __init__(self, formats: type[Enum]) -> None:
        self._formats = formats

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"{'|'.join(one.value for one in self._formats)}[=FILE]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Output[Any]:
        if isinstance(value, Output):
            return value
        name, given, file = value.partition("=")
        names = [one.value for one in self._formats]
        if name not in names:
            self.fail(f'"{printable(name)}" is not one of {", ".join(names)}', param, ctx)
        if given and not file:
            self.fail(f'"{printable(value)}" names no file after "="', param, ctx)
        return Output(self._formats(name), file or STDOUT)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(one.value) for one in self._formats if one.value.startswith(incomplete)]


def outputs_option(default: Enum, description: str) -> Callable[[Command], Command]:
    """Return the option `-o`, which chooses formats from the enum of the default, each with a file."""
    return click.option(
        "-o",
        "--output",
        "outputs",
        type=_OutputType(type(default)),
        multiple=True,
        default=[default.value],
        show_default=True,
        callback=_distinct,
        help=f"{description} FORMAT=FILE writes a file. Repeatable.",
    )


def _distinct(
    _context: click.Context, _option: click.Parameter, outputs: tuple[Output[Any], ...]
) -> tuple[Output[Any], ...]:
    """Return the outputs. Raises BadParameter if two have the same destination."""
    seen: set[str] = set()
    for one in outputs:
        place = one.file if one.file == STDOUT else os.path.abspath(one.file)  # noqa: PTH100 - no link is followed
        if place in seen:
            where = "standard output" if one.file == STDOUT else printable(one.file)
            raise click.BadParameter(f"two formats for {where}; write one of them with FORMAT=FILE")
        seen.add(place)
    return outputs


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
