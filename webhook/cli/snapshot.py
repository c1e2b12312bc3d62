"""`snapshot`: the facts of a cluster, and the installed settings, as files that `check` reads."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli.options import (
    Cluster,
    cluster_options,
    file_option,
    format_option,
    read_standard_input_once,
)
from webhook.cli.output import STDOUT, tell, write_files
from webhook.dryrun.files import configuration
from webhook.policy.settings.settings import Settings
from webhook.report.data import DataFormat


@click.command(name="snapshot")
@cluster_options
@file_option("--facts", default=STDOUT, show_default=True, help="The facts file to write; - for standard output.")
@file_option(
    "--settings",
    "settings_file",
    help="The settings file to write: the settings of the installation that --installed-as names.",
)
@file_option("--config", help="A settings file whose settings apply, in place of those of an installation.")
@format_option(DataFormat.YAML, "The format of the facts file. JSON loads faster.")
def command(
    cluster: Cluster | None,
    facts: str,
    settings_file: str | None,
    config: str | None,
    output: DataFormat,
) -> None:
    """Write the facts of a cluster, and the installed settings, to files for check and mutate.

    The files hold what the checks read, and nothing else: no annotations, addresses, images or secrets, and of the
    labels of namespaces those of Pod Security and those that the settings name. The same cluster gives the same files.
    A part that cannot be read is an error, and nothing is written; a part that is left out is named on standard error.

    \b
    Examples:
      gpushare-webhook snapshot --facts facts.yaml
      gpushare-webhook snapshot --installed-as gpushare-webhook/gpushare-webhook --facts facts.yaml \\
        --settings settings.yaml
      gpushare-webhook check pod.yaml --facts facts.yaml --config settings.yaml
    """
    from webhook.cli import live
    from webhook.settings.facts_file import portable, spelled_out

    installed_as = None if cluster is None else cluster.installed_as
    if config is not None and installed_as is not None:
        raise click.UsageError("--config and --installed-as: both name the settings; leave out one")
    if settings_file is not None and installed_as is None:
        raise click.UsageError("--settings needs --installed-as NAMESPACE/NAME, which names the settings to write")
    if settings_file is not None and Path(settings_file).resolve() == Path(facts).resolve():
        raise click.UsageError("--facts and --settings name the same file; name two")
    read_standard_input_once(config=config)
    given = Settings() if config is None else configuration(config).settings
    read = live.read(cluster or Cluster(), given)
    contents = {facts: output.to_format()(spelled_out(portable(read.facts, read.settings)))}
    if settings_file is not None and read.settings_file is not None:
        contents[settings_file] = read.settings_file
    write_files(contents)
    for part in read.left_out:
        tell(f"{part.what}: not read, so that check treats it as unknown ({part.why})")
