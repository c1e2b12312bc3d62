"""The inputs of a command: manifests from `-f`, and the evaluator that `--config` and `--facts` describe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeAlias, TypeVar

import click

from webhook.cli.screen import tell
from webhook.manifests import STDIN, Manifest, Problem, has_documents, read, sources
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import Settings
from webhook.report import Error

if TYPE_CHECKING:
    from webhook.settings.configuration import Configuration
    from webhook.settings.options import Option

WRONG_INPUT = 2

Command = TypeVar("Command", bound=Callable[..., Any])


def manifest_options(command: Command) -> Command:
    """The options that `check` and `mutate` share."""
    for option in (
        click.option("--facts", metavar="FILE", help="Facts of the cluster, as a file."),
        click.option("--config", metavar="FILE", help="The settings file. Without it the defaults hold."),
        click.option(
            "-n",
            "--namespace",
            default="",
            callback=_namespace,
            help="The namespace of objects that name none.",
        ),
        click.option("-R", "--recursive", is_flag=True, help="Read folders with all that is below them."),
        click.option(
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


def _namespace(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """The name itself, or empty. Raises BadParameter for what no namespace can be called."""
    from webhook.settings.names import NAMESPACE

    try:
        return NAMESPACE.read(value) if value else ""
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_standard_input_once(**given: str | Sequence[str] | None) -> None:
    """Refuse options that name standard input more than once: it can be read once. Raises UsageError.

    The values are by the options' names, dashes left out.
    """
    naming = [
        f"{'-' if len(name) == 1 else '--'}{name} -"
        for name, values in given.items()
        for value in ([values] if isinstance(values, str) else values or ())
        if value == "-"
    ]
    if len(naming) > 1:
        raise click.UsageError(
            f"{' and '.join(naming)} all name standard input, which can be read once; name a file instead"
        )


def manifests(filenames: Sequence[str], recursive: bool) -> Iterator[Manifest | Error]:
    """All manifests of the inputs; what cannot be read comes as an error in its place.

    Standard input without a document is an error: what writes it has failed. A file or folder may hold none, but not
    all inputs of a run, or a check that checks nothing would pass. A list without items is a document.
    """
    empty: list[str] = []
    is_all = True
    for source in sources(filenames, recursive, _standard_input()):
        if isinstance(source, Problem):
            is_all = False
            yield _error(source)
            continue
        file, data = source
        found = False
        for manifest in read(file, data):
            found = True
            yield manifest if isinstance(manifest, Manifest) else _error(manifest)
        if found or has_documents(data):
            is_all = False
        else:
            empty.append(file)
    for file in empty:
        if is_all or file == STDIN:
            yield Error(file, 0, 0, _EMPTY_INPUT if file == STDIN else _EMPTY_FILE)


_EMPTY_INPUT = "standard input holds no object; did the command before the pipe fail?"
_EMPTY_FILE = "no object in this file, nor in any other input"


def _standard_input() -> BinaryIO:
    """Standard input; empty where it is closed."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def evaluator_for(config: str | None, facts: str | None) -> Evaluator:
    """The evaluator for a settings file and a facts file. A wrong one ends the command with its problems."""
    settings = Settings() if config is None else configuration(config).settings
    return Evaluator.of(settings, read_facts(facts))


def configuration(file: str | None, options: Sequence[Option] = ()) -> Configuration:
    """What a settings file says, under the options. Wrong ones end the command with their problems."""
    from webhook.settings.problems import SettingsError
    from webhook.settings.reading import load

    if file is not None:
        return _read_one(file, partial(load, options=options))
    try:
        return load(None, lambda _path: (0, 0), "", options)
    except SettingsError as error:
        fail(str(problem) for problem in error.problems)


def read_facts(file: str | None) -> Facts:
    """What a facts file says. A wrong one ends the command with its problems."""
    if file is None:
        return UNKNOWN
    from webhook.settings.reading import load_facts

    return _read_one(file, load_facts)


Loaded = TypeVar("Loaded")
Load: TypeAlias = Callable[[object, Callable[..., tuple[int, int]], str], Loaded]


class WrongFileError(Exception):
    """A settings or facts file that cannot be used, with a line for each problem."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def parse(file: str, data: bytes, load: Load[Loaded]) -> Loaded:
    """What the single document of one of our own files says. Raises WrongFileError."""
    from webhook.settings.problems import SettingsError

    found = list(read(file, data))
    errors = [str(_error(one)) for one in found if isinstance(one, Problem)]
    documents = [one for one in found if isinstance(one, Manifest)]
    if len(documents) > 1:
        errors.append(str(Error(file, documents[1].line, 1, "a second document; the file holds one")))
    if errors:
        raise WrongFileError(errors)
    try:
        return load(documents[0].value, _locate(documents[0]), file) if documents else load(None, _nowhere, file)
    except SettingsError as error:
        raise WrongFileError([str(problem) for problem in error.problems]) from None


def _read_one(file: str, load: Load[Loaded]) -> Loaded:
    """What one of our own files says. A wrong one ends the command with its problems."""
    if file != "-" and Path(file).is_dir():
        fail([f"{file}: is a folder; name a file"])
    (source,) = sources([file], False, _standard_input())
    if isinstance(source, Problem):
        fail([str(_error(source))])
    name, data = source
    try:
        return parse(name, data, load)
    except WrongFileError as error:
        fail(error.lines)


def _locate(document: Manifest) -> Callable[[tuple[str | int, ...]], tuple[int, int]]:
    def locate(path: tuple[str | int, ...]) -> tuple[int, int]:
        position = document.locate(path)
        return position.line, position.column

    return locate


def _nowhere(_path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


def fail(messages: Iterable[str]) -> NoReturn:
    """End the command because of wrong input, saying what is wrong."""
    tell(*messages)
    raise SystemExit(WRONG_INPUT)


def _error(problem: Problem) -> Error:
    return Error(problem.file, problem.line, problem.column, problem.message)
