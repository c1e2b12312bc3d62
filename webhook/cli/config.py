"""`config`: the effective settings and their origins, the problems of a settings file, and the JSON Schemas."""

from __future__ import annotations

from typing import assert_never

import click

from webhook.cli.evaluator import config_option
from webhook.cli.options import complete_files, file_option, format_option, read_standard_input_once
from webhook.cli.screen import show
from webhook.diagnostics import LINE
from webhook.dryrun.files import FILE, configuration, content, parse, read_facts, settings_file
from webhook.manifests import STDIN
from webhook.policy.messages import printable
from webhook.policy.verdict import Path
from webhook.report.data import DataFormat, json_text
from webhook.report.settings import YamlComments, commented_yaml, plugin_limits


@click.group(name="config")
def command() -> None:
    """Show, validate or describe the settings."""


@command.command(name="view")
@config_option
@file_option("--facts", help="A facts file: comments show the limits that come from the device plugin.")
@format_option(DataFormat.YAML, "The format of the settings.")
def view(config: str | None, facts: str | None, output: DataFormat) -> None:
    """Show the effective settings and their origins.

    Keys of the file override those of its profile, which override the defaults. A comment names the line of the file or
    the profile that sets a value; a value without a comment is the default. JSON has no comments.
    """
    from webhook.settings.configuration import view as effective
    from webhook.settings.load import load_with_origins

    read_standard_input_once(config=config, facts=facts)
    file = settings_file(config)
    held, origins = parse(*("", b"") if file is None else content(file.file), load_with_origins)
    known = read_facts(facts, held.settings)
    match output:
        case DataFormat.YAML:
            below = {} if facts is None else {_FROM_PLUGIN: tuple(plugin_limits(held.settings.limits, known))}
            head = "" if file is None or not file.found else printable(f"# The settings file is {file}.", LINE) + "\n"
            head += "# Values without a comment are the defaults.\n"
            show(head + commented_yaml(effective(held), YamlComments(origins, below)))
        case DataFormat.JSON:
            show(json_text(effective(held)))
        case _:
            assert_never(output)


_FROM_PLUGIN: Path = ("limits", "fromDevicePlugin")


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
