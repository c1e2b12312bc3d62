"""`config`: the effective settings and their origins, the problems of a settings file, and the JSON Schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

import click

from webhook.cli.options import complete_files, config_option, file_option, format_option, read_standard_input_once
from webhook.cli.output import show
from webhook.diagnostics import LINE
from webhook.dryrun.files import FILE, configuration, content, parse, read_facts, settings_file
from webhook.manifests import STDIN
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import PluginConfigs
from webhook.policy.settings.settings import Limits
from webhook.policy.snapshot import ContainerLimits
from webhook.policy.verdict import Path
from webhook.report.data import DataFormat, json_text, yaml_text
from webhook.report.lines import counted


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
    from webhook.guard.objects import why_absent
    from webhook.settings.configuration import view as effective
    from webhook.settings.load import load_with_origins

    read_standard_input_once(config=config, facts=facts)
    file = settings_file(config)
    configured, origins = parse(*("", b"") if file is None else content(file.file), load_with_origins)
    known = read_facts(facts, configured.settings)
    match output:
        case DataFormat.YAML:
            below = {} if facts is None else {_FROM_PLUGIN: tuple(plugin_limits(configured.settings.limits, known))}
            head = "" if file is None or not file.found else printable(f"# The settings file is {file}.", LINE) + "\n"
            head += "# Values without a comment are the defaults.\n"
            if reason := why_absent(effective(configured), asked=configured.settings.guard.enabled):
                head += printable(f"# These settings allow no guard in the API server: {reason}.", LINE) + "\n"
            show(head + commented_yaml(effective(configured), origins, below))
        case DataFormat.JSON:
            show(json_text(effective(configured)))
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


def commented_yaml(value: Mapping[str, Any], beside: Mapping[Path, str], below: Mapping[Path, Sequence[str]]) -> str:
    """Return the value as `yaml_text` does, with comments by path, which leads through mappings to another value.

    Comments `beside` a value stand on the line of its key, those `below` on lines of their own after it.
    """

    def lines(value: Mapping[str, Any], above: Path) -> Iterator[str]:
        for key, one in value.items():
            path = (*above, key)
            if isinstance(one, Mapping) and one:
                yield yaml_text({key: None}).removesuffix(" null\n")
                yield from (f"  {line}" for line in lines(one, path))
                continue
            written = yaml_text({key: one}).splitlines()
            if path in beside:
                # A comment within a text of several lines would be a part of it.
                written[-1 if isinstance(one, str) else 0] += f"  {_comment(beside[path])}"
            yield from written
            yield from map(_comment, below.get(path, ()))

    return "".join(f"{line}\n" for line in lines(value, ()))


def _comment(text: str) -> str:
    return f"# {printable(text, LINE)}"


_STRATEGIES = {"none": "whole cards", "mps": "MPS", "time-slicing": "time-slicing"}


def plugin_limits(limits: Limits, facts: Facts) -> Iterator[str]:
    """Yield the limits per container by configuration, with the number of its nodes where nodes are known."""
    plugin = facts.device_plugin
    if not limits.from_device_plugin:
        return
    if plugin is None:
        yield "the device plugin is unknown: the limits above apply"
        return
    configs = PluginConfigs(plugin)
    container = ContainerLimits(limits, configs)
    if plugin.configs is None:
        yield f"any configuration: MPS, {_limit(container.limit('mps', configs.accept_several_everywhere('mps')))}"
        return
    used = [configs.of(node) for node in facts.nodes or ()]
    nodes = Counter(None if config is None else config.name for config in used)
    for config in plugin.configs:
        used_by = "" if facts.nodes is None else f", {counted(nodes[config.name], 'node')}"
        yield f"{config.name}: {_STRATEGIES[config.strategy]}, {_limit(container.of_config(config))}{used_by}"
    if nodes[None]:
        yield f"unknown configuration: the limits above apply, {counted(nodes[None], 'node')}"


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"limit {limit}"
