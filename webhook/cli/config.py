"""`config`: the effective settings, the problems of a settings file, and the JSON Schema."""

from __future__ import annotations

import click

from webhook.cli.inputs import configuration
from webhook.cli.options import format_option
from webhook.cli.screen import show, tell
from webhook.diagnostics import LINE
from webhook.manifests import STDIN
from webhook.policy.printable import printable
from webhook.report.data import DataFormat, json_text

_FILE = click.option("--config", metavar="FILE", help="The settings file; - for standard input.")


@click.group(name="config")
def command() -> None:
    """Show, validate or describe the settings."""


@command.command(name="view")
@_FILE
@format_option(DataFormat.YAML, "The format of the settings.")
def view(config: str | None, output: DataFormat) -> None:
    """Show the effective settings.

    Keys of the file override those of its profile, which override the defaults.
    """
    from webhook.settings.configuration import view as effective

    show(output.to_format()(effective(configuration(config))))


@command.command(name="validate")
@click.option("--config", metavar="FILE", required=True, help="The settings file; - for standard input.")
def validate(config: str) -> None:
    """Validate a settings file.

    Exits with 0 for a valid file, and with 2 and a line for each problem otherwise.
    """
    from webhook.settings.configuration import not_in_force

    file = STDIN if config == "-" else config
    for key in not_in_force(configuration(config)):
        tell(f"{file}: {key} has no effect in this release")
    show(printable(f"{file}: valid", LINE) + "\n")


@command.command(name="schema")
def schema() -> None:
    """Print the JSON Schema of the settings file."""
    from webhook.settings.schema import schema as described

    show(json_text(described()))
