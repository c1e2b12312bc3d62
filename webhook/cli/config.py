"""`config`: the effective settings and their origins, the problems of a settings file, and the JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from webhook.cli.options import complete_files, config_option, format_option
from webhook.cli.output import show
from webhook.diagnostics import LINE
from webhook.dryrun.files import FILE, configuration, content, parse, settings_file
from webhook.manifests import STDIN
from webhook.policy.messages import printable
from webhook.policy.verdict import Path
from webhook.report.data import DataFormat, json_text, yaml_text


@click.group(name="config")
def command() -> None:
    """Show, validate or describe the settings."""


@command.command(name="view")
@config_option
@format_option(DataFormat.YAML, "The format of the settings.")
def view(config: str | None, output: DataFormat) -> None:
    """Show the effective settings and their origins.

    Keys of the file override those of its profile, which override the defaults. A comment names the line of the file or
    the profile that sets a value; a value without a comment is the default. JSON has no comments.
    """
    from webhook.guard import why_absent
    from webhook.settings.configuration import view as effective
    from webhook.settings.load import load_with_origins

    file = settings_file(config)
    configured, origins = parse(*content(None if file is None else file.file), load_with_origins)
    settings = effective(configured)
    if output is DataFormat.JSON:
        show(json_text(settings))
        return
    head = "" if file is None or not file.found else printable(f"# The settings file is {file}.", LINE) + "\n"
    head += "# Values without a comment are the defaults.\n"
    if reason := why_absent(settings, asked=configured.settings.guard.enabled):
        head += printable(f"# These settings allow no guard in the API server: {reason}.", LINE) + "\n"
    show(head + commented_yaml(settings, origins))


@command.command(name="validate")
@click.argument("file", metavar="[FILE]", required=False, shell_complete=complete_files)
@config_option
def validate(file: str | None, config: str | None) -> None:
    """Validate a settings file.

    FILE is the settings file; - stands for standard input. Without FILE and without --config, the command validates the
    file that `config view` shows. Exits with 0 for a valid file, and with 2 and a line for each problem otherwise.
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


def commented_yaml(value: Mapping[str, Any], comments: Mapping[Path, str]) -> str:
    """Return the value as `yaml_text` does, with comments on the lines of keys.

    The path of a comment leads through mappings to another value.
    """

    def lines(value: Mapping[str, Any], above: Path) -> Iterator[str]:
        for key, one in value.items():
            path = (*above, key)
            if isinstance(one, Mapping) and one:
                yield yaml_text({key: None}).removesuffix(" null\n")
                yield from (f"  {line}" for line in lines(one, path))
                continue
            written = yaml_text({key: one}).splitlines()
            if path in comments:
                # A comment within a text of several lines would be a part of it.
                written[-1 if isinstance(one, str) else 0] += f"  # {printable(comments[path], LINE)}"
            yield from written

    return "".join(f"{line}\n" for line in lines(value, ()))
