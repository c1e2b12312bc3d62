"""The inputs of a command: manifests from `-f`, and the engine that `--config` and `--facts` describe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

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
    from webhook.settings.problems import SettingsError
    from webhook.settings.reading import load

    if file is None:
        return default()
    try:
        return _read_one(file, load)
    except SettingsError as error:
        fail(map(str, error.problems))


def read_facts(file: str | None) -> Facts:
    """What a facts file says. A wrong one ends the command with its problems."""
    if file is None:
        return UNKNOWN
    from webhook.settings.problems import SettingsError
    from webhook.settings.reading import load_facts

    try:
        return _read_one(file, load_facts)
    except SettingsError as error:
        fail(map(str, error.problems))


Loaded = TypeVar("Loaded")


def _read_one(file: str, load: Callable[[object, Callable[..., tuple[int, int]], str], Loaded]) -> Loaded:
    """The single document of one of our own files."""
    if file != "-" and Path(file).is_dir():
        fail([f"{file}: is a folder; name a file"])
    found = list(manifests([file], recursive=False))
    file = "<stdin>" if file == "-" else file
    errors = [str(one) for one in found if isinstance(one, Error)]
    documents = [one for one in found if isinstance(one, Manifest)]
    if len(documents) > 1:
        errors.append(f"{file}:{documents[1].line}:1: a second document; the file holds one")
    if errors:
        fail(errors)
    if not documents:
        return load(None, lambda _path: (1, 1), file)
    only = documents[0]

    def locate(path: tuple[str | int, ...]) -> tuple[int, int]:
        position = only.locate(path)
        return position.line, position.column

    return load(only.value, locate, file)


def fail(messages: Iterable[str]) -> NoReturn:
    """End the command because of wrong input, saying what is wrong."""
    for message in messages:
        click.echo(message, err=True)
    raise SystemExit(WRONG_INPUT)


def _error(problem: Problem) -> Error:
    return Error(problem.file, problem.line, problem.column, problem.message)
