"""`config`: the effective settings and their origins, the problems of a settings file, and the JSON Schemas."""

from __future__ import annotations

import click

from webhook.cli.options import complete_files, config_option, format_option
from webhook.cli.output import show
from webhook.diagnostics import LINE
from webhook.dryrun.files import FILE, configuration, settings_file
from webhook.manifests import STDIN
from webhook.policy.messages import printable
from webhook.report.data import DataFormat, json_text


@click.group(name="config")
def command() -> None:
    """Show, validate or describe the settings."""


@command.command(name="view")
@config_option
@format_option(DataFormat.YAML, "The format of the settings.")
def view(config: str | None, output: DataFormat) -> None:
    """Show the effective settings.

    Keys of the file override those of its profile, which override the defaults.
    """
    from webhook.guard.objects import why_absent
    from webhook.settings.configuration import view as effective

    file = settings_file(config)
    configured = configuration(None if file is None else file.file)
    shown = effective(configured)
    if output is DataFormat.YAML:
        if file is not None and file.found:
            show(printable(f"# The settings file is {file}.", LINE) + "\n")
        if reason := why_absent(shown, asked=configured.settings.guard.enabled):
            show(printable(f"# These settings allow no guard in the API server: {reason}.", LINE) + "\n")
    show(output.to_format()(shown))


@command.command(name="validate")
@click.argument("file", metavar="[FILE]", required=False, shell_complete=complete_files)
@config_option
def validate(file: str | None, config: str | None) -> None:
    """Validate a settings file.

    FILE is the settings file; - stands for standard input. Without FILE and without --config, the file is validated
    that `config view` shows. Exits with 0 for a valid file, and with 2 and a line for each problem otherwise.
    """
    if file is not None and config is not None:
        raise click.UsageError("FILE and --config name the same thing; leave out one of them")
    given = settings_file(config if file is None else file)
    if given is None:
        raise click.UsageError(f"there is no {FILE} here; name a settings file")
    configuration(given.file)
    given = given._replace(file=STDIN if given.file == "-" else given.file)
    show(printable(f"{given}: valid", LINE) + "\n")


@command.command(name="schema")
@click.argument("file", type=click.Choice(["settings", "facts"]), default="settings")
def schema(file: str) -> None:
    """Print the JSON Schema of the settings or facts file.

    \b
    Examples:
      gpushare-webhook config schema > settings.schema.json
      gpushare-webhook config schema facts > facts.schema.json
    """
    from webhook.settings import schema as schemas

    show(json_text(schemas.facts_schema() if file == "facts" else schemas.schema()))
