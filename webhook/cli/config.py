"""`config`: the settings, as they are in effect, as a file has them, or as a schema."""

from __future__ import annotations

import click

from webhook.cli.inputs import configuration
from webhook.cli.screen import show, tell
from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.report.data import json_text, yaml_text

_FILE = click.option("--config", metavar="FILE", help="The settings file; - for standard input.")


@click.group(name="config")
def command() -> None:
    """Show, validate or describe the settings."""


@command.command(name="view", short_help="Show the effective settings.")
@_FILE
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="The format.")
def view(config: str | None, output: str) -> None:
    """Show the effective settings: the file's keys over its profile's over the defaults."""
    from webhook.settings.configuration import view as effective

    shown = effective(configuration(config))
    show(json_text(shown) if output == "json" else yaml_text(shown))


@command.command(name="validate", short_help="Say whether a settings file is right.")
@click.option("--config", metavar="FILE", required=True, help="The settings file; - for standard input.")
def validate(config: str) -> None:
    """Say whether a settings file is right: 0 when it is, 2 with every problem when it is not."""
    from webhook.settings.configuration import not_in_force

    idle = not_in_force(configuration(config))
    for key in idle:
        tell(f"{config}: {key} has no effect in this release")
    show(printable(f"{config}: valid", LINE) + "\n")


@command.command(name="schema", short_help="Print the JSON Schema of the settings file.")
def schema() -> None:
    """Print the JSON Schema of the settings file, for editors and linters."""
    from webhook.settings.schema import schema as described

    show(json_text(described()))
