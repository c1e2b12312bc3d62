"""The registries of commands and formats name what their folders hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click
import pytest

import webhook.cli
import webhook.report.check
import webhook.report.mutate
from tests.report.rewriting import mutations
from webhook.cli import COMMANDS, cli
from webhook.report.check import CheckFormat
from webhook.report.mutate import MutateFormat
from webhook.report.mutation import Destination
from webhook.report.rewrite import EditedFile


def modules(package: ModuleType) -> list[str]:
    """The names of a package's modules, as files of its folder."""
    return sorted(file.stem for file in Path(str(package.__file__)).parent.glob("*.py") if file.stem != "__init__")


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli, **cli.context_settings), name)
    assert found is not None
    return found


def test_command_registry_equals_folder() -> None:
    imported = {name: import_module(f"webhook.cli.{name}") for name in modules(webhook.cli)}
    assert sorted(name for name, module in imported.items() if hasattr(module, "command")) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_short_help_is_first_line_of_docstring(name: str) -> None:
    documented = str(inspect.getdoc(command(name).callback))
    assert command(name).name == name
    assert documented.partition("\n")[0] == COMMANDS[name]


@pytest.mark.parametrize(
    ("package", "formats"), [(webhook.report.check, CheckFormat), (webhook.report.mutate, MutateFormat)]
)
def test_format_registry_equals_folder(package: ModuleType, formats: Iterable[CheckFormat | MutateFormat]) -> None:
    assert sorted(one.value for one in formats) == modules(package)


@pytest.mark.parametrize("chosen", MutateFormat)
def test_every_mutate_format_writes_edits(chosen: MutateFormat) -> None:
    writer = chosen.writer(Destination())
    container = b"resources: {limits: {nvidia.com/gpu: 1}}"
    data = b"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - " + container + b"\n"
    pieces = [*writer.file(EditedFile(mutations(data))), *writer.end()]
    assert "runtimeClassName" in "".join(map(str, pieces))
