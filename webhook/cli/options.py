"""Options that several commands share, and the settings and facts that they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial, wraps
from inspect import signature
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from webhook.cli.extras import require
from webhook.cli.output import STDOUT
from webhook.dryrun.files import FILE, VARIABLE
from webhook.dryrun.inputs import Inputs
from webhook.policy.messages import printable
from webhook.settings.options import Option, Profile

if TYPE_CHECKING:
    from webhook.policy.settings.formats import Text

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


def formatted(form: Text) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback of an option whose value has a format. Raises BadParameter."""

    def verified(_context: click.Context, _option: click.Parameter, value: Any) -> Any:
        if value is not None and not form.allows(value):
            from webhook.policy.settings.formats import must_be  # only for what is wrong

            raise click.BadParameter(must_be(form.description, value, form.remedy(value)))
        return value

    return verified


def namespace_option(description: str) -> Callable[[Command], Command]:
    """Return the option `-n`, whose value is a name that a namespace can have, or empty."""

    def verified(context: click.Context, option: click.Parameter, value: str) -> Any:
        if not value:
            return value
        from webhook.policy.settings.formats import NAMESPACE  # most runs need no formats

        return formatted(NAMESPACE)(context, option, value)

    return single_option("-n", "--namespace", metavar="NAME", default="", callback=verified, help=description)


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
        help="Accepted for compatibility with kubectl; no effect.",
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
    namespace_option("The namespace of objects that do not name one."),
)
"""Adds the arguments and options that name manifests. The command gets them as `inputs`."""

OutputFormat = TypeVar("OutputFormat", bound=Enum)


class Output(NamedTuple, Generic[OutputFormat]):
    """A format, and the file that gets it; `-` is standard output."""

    format: OutputFormat
    file: str


def outputs_option(default: Enum, description: str) -> Callable[[Command], Command]:
    """Return the option `-o`, which chooses formats from the enum of the default, each with a file."""
    formats = type(default)
    words = [one.value for one in formats]

    def outputs(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[Output[Any], ...]:
        """Return the outputs. Raises BadParameter for an unknown format, or if two have the same destination."""
        chosen: dict[str, Output[Any]] = {}
        for value in values:
            word, given, file = value.partition("=")
            if word not in words:
                raise click.BadParameter(f'"{printable(word)}" is not one of {", ".join(words)}')
            if given and not file:
                raise click.BadParameter(f'"{printable(value)}" names no file after "="')
            place = os.path.abspath(file) if file not in ("", STDOUT) else STDOUT  # noqa: PTH100 - no link is followed
            if place in chosen:
                where = "standard output" if place == STDOUT else printable(file)
                raise click.BadParameter(f"two formats for {where}; write one of them with FORMAT=FILE")
            chosen[place] = Output(formats(word), file or STDOUT)
        return tuple(chosen.values())

    return click.option(
        "-o",
        "--output",
        "outputs",
        metavar=f"{'|'.join(words)}[=FILE]",
        multiple=True,
        default=[default.value],
        show_default=True,
        callback=outputs,
        shell_complete=lambda _context, _option, start: [word for word in words if word.startswith(start)],
        help=f"{description} FORMAT=FILE writes a file. Repeatable.",
    )


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


PARTS = {
    "nodes": "nodes",
    "namespaces": "namespaces",
    "runtimeClasses": "runtime_classes",
    "deviceClasses": "device_classes",
    "devicePlugin": "device_plugin",
}
"""The parts of facts by their keys in the file, and their names in `Facts` and `FactsSettings`."""

LISTED = "`gpushare-webhook explain` lists them"
"""The end of an error about a code that no check has."""

DEFAULT_QUEUES = "defaultQueues"
"""The part that no settings switch on, since only commands that check manifests need it."""

ALL_PARTS = (*PARTS, DEFAULT_QUEUES)


class Cluster(NamedTuple):
    """A cluster of a kubeconfig, and what to read of it.

    Without a context, it is the cluster that this process runs in, or that of the current context. `installed_as` is
    NAMESPACE/NAME of the installation whose settings are used. `without` holds keys of the facts file.
    """

    context: str | None = None
    kubeconfig: str | None = None
    installed_as: str | None = None
    without: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"context {self.context}" if self.context is not None else "the cluster"


def _cluster(
    *, context: str | None, kubeconfig: str | None, installed_as: str | None, without: tuple[str, ...]
) -> Cluster | None:
    given = Cluster(context, kubeconfig, installed_as, frozenset(without))
    if given == Cluster():
        return None
    require("cluster", "an option of a live cluster (--context, --kubeconfig, --installed-as, --without)")
    return given


def _namespaced(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    """Return NAMESPACE/NAME. Raises BadParameter for other text."""
    if value is None:
        return None
    from webhook.policy.settings.formats import NAMESPACED_NAME  # most runs need no formats

    return formatted(NAMESPACED_NAME)(context, option, value)


def _not_empty(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Return the name. Raises BadParameter if it is empty, as a variable that is not set leads to."""
    if value == "":
        raise click.BadParameter("the name is empty; leave out the option for the current context")
    return value


def _contexts(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """Return the contexts that a shell may complete; none where there is no kubeconfig that lists any."""
    from webhook.cluster.kubeconfig import KubeconfigError, contexts, location

    try:
        names = contexts(context.params.get("kubeconfig") or location())
    except KubeconfigError:
        return []
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]


cluster_options = option_group(
    "cluster",
    _cluster,
    click.option(
        "--context",
        metavar="NAME",
        callback=_not_empty,
        shell_complete=_contexts,
        help="The context of the kubeconfig, which names a cluster.",
    ),
    file_option(
        "--kubeconfig",
        callback=_not_empty,
        help="The kubeconfig of the cluster. Without it KUBECONFIG applies.",
    ),
    click.option(
        "--installed-as",
        metavar="NAMESPACE/NAME",
        callback=_namespaced,
        help="The installation whose settings apply: read from its ConfigMap, together with the facts that they "
        "switch on. Without it, all facts are read.",
    ),
    click.option(
        "--without",
        metavar="PART",
        type=click.Choice(ALL_PARTS),
        multiple=True,
        help=f"A part of the facts that is not read and stays unknown: {', '.join(ALL_PARTS)}. Repeatable.",
    ),
)
"""Adds the options of a cluster. The command gets them as `cluster`, which is None if none of them is given."""


config_option = file_option(
    "--config",
    help=f"The settings file. Without it, {VARIABLE} names one, or a {FILE} in the working directory or "
    "above it in the repository applies.",
)
profile_option = single_option(
    "--profile",
    type=click.Choice(get_args(Profile)),
    callback=lambda _context, _option, value: [] if value is None else [Option("--profile", "", "profile", value)],
    help="The profile of the settings. Overrides that of the settings file.",
)
