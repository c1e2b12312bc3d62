"""The inputs of a command: manifests from `-f`, and the engine that `--config` and `--facts` describe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import click

from webhook.manifests import Manifest, Problem, read, sources
from webhook.policy.checks import CHECKS
from webhook.policy.facts import UNKNOWN, Facts
from webhook.policy.kinds import Table, table
from webhook.policy.rules import Ruleset
from webhook.policy.settings import Settings
from webhook.report import Error

if TYPE_CHECKING:
    from webhook.settings.configuration import Configuration

WRONG_INPUT = 2

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Engine:
    """What judges: the ruleset and the kinds that hold pods."""

    ruleset: Ruleset
    kinds: Table


def manifest_options(command: Command) -> Command:
    """The options that `check` and `mutate` share."""
    for option in (
        click.option("--facts", metavar="FILE", help="Facts of the cluster, as a file."),
        click.option("--config", metavar="FILE", help="The settings file. Without it the defaults hold."),
        click.option("-n", "--namespace", default="", help="The namespace of objects that name none."),
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


def manifests(filenames: Sequence[str], recursive: bool) -> Iterator[Manifest | Error]:
    """All manifests of the inputs; what cannot be read comes as an error in its place."""
    for source in sources(filenames, recursive, sys.stdin.buffer):
        if isinstance(source, Problem):
            yield _error(source)
            continue
        file, data = source
        for manifest in read(file, data):
            yield manifest if isinstance(manifest, Manifest) else _error(manifest)


def engine(config: str | None, facts: str | None) -> Engine:
    """The engine for a settings file and a facts file. A wrong one ends the command with its problems."""
    settings = Settings() if config is None else configuration(config).settings
    return Engine(Ruleset(settings, CHECKS, read_facts(facts)), table(settings.workloads.paths))


def configuration(file: str | None) -> Configuration:
    """What a settings file says. A wrong one ends the command with its problems."""
    from webhook.settings.configuration import default
    from webhook.settings.reading import load

    return default() if file is None else _read_one(file, load)


def read_facts(file: str | None) -> Facts:
    """What a facts file says. A wrong one ends the command with its problems."""
    if file is None:
        return UNKNOWN
    from webhook.settings.reading import load_facts

    return _read_one(file, load_facts)


Loaded = TypeVar("Loaded")
Load: TypeAlias = Callable[[object, Callable[..., tuple[int, int]], str], Loaded]


class WrongFileError(Exception):
    """A file of ours that cannot be used. The message has a line for each problem."""


def parse(file: str, data: bytes, load: Load[Loaded]) -> Loaded:
    """What the single document of one of our own files says. Raises WrongFileError."""
    from webhook.settings.problems import SettingsError

    found = list(read(file, data))
    errors = [str(_error(one)) for one in found if isinstance(one, Problem)]
    documents = [one for one in found if isinstance(one, Manifest)]
    if len(documents) > 1:
        errors.append(f"{file}:{documents[1].line}:1: a second document; the file holds one")
    if errors:
        raise WrongFileError("\n".join(errors))
    try:
        return load(documents[0].value, _locate(documents[0]), file) if documents else load(None, _nowhere, file)
    except SettingsError as error:
        raise WrongFileError(str(error)) from None


def _read_one(file: str, load: Load[Loaded]) -> Loaded:
    """What one of our own files says. A wrong one ends the command with its problems."""
    if file != "-" and Path(file).is_dir():
        fail([f"{file}: is a folder; name a file"])
    (source,) = sources([file], False, sys.stdin.buffer)
    if isinstance(source, Problem):
        fail([str(_error(source))])
    name, data = source
    try:
        return parse(name, data, load)
    except WrongFileError as error:
        fail(str(error).splitlines())


def _locate(document: Manifest) -> Callable[[tuple[str | int, ...]], tuple[int, int]]:
    def locate(path: tuple[str | int, ...]) -> tuple[int, int]:
        position = document.locate(path)
        return position.line, position.column

    return locate


def _nowhere(_path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


def fail(messages: Iterable[str]) -> NoReturn:
    """End the command because of wrong input, saying what is wrong."""
    for message in messages:
        click.echo(message, err=True)
    raise SystemExit(WRONG_INPUT)


def _error(problem: Problem) -> Error:
    return Error(problem.file, problem.line, problem.column, problem.message)
