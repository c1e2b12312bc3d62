"""The settings and facts of a run over manifests: the options that name them, and how they are read."""

from __future__ import annotations

from typing import NamedTuple

import click

from webhook.cli.options import Cluster, cluster_options, config_option, file_option, option_group, profile_option
from webhook.dryrun.files import chosen_settings, read_facts, settings_file
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.model import EVERYTHING, Selection
from webhook.settings.options import Option


class SettingsSource(NamedTuple):
    """Where settings and facts come from: the values of options, and the cluster that other options name."""

    config: str | None
    profile: list[Option]
    facts: str | None
    cluster: Cluster | None


def _source(*, config: str | None, profile: list[Option], facts: str | None, cluster: Cluster | None) -> SettingsSource:
    """Return the source. Raises UsageError if options name two sources of facts or of settings."""
    if cluster is not None:
        if facts is not None:
            raise click.UsageError("--facts and --context: facts come from a file or from a cluster; leave out one")
        if cluster.installed_as is not None:
            for option, given in (("--config", config), ("--profile", profile or None)):
                if given is not None:
                    raise click.UsageError(f"{option} and --installed-as: both name the settings; leave out one")
        if cluster.context is None and cluster.kubeconfig is None and cluster.installed_as is None:
            raise click.UsageError("--without needs --context, --kubeconfig or --installed-as, which name a cluster")
    return SettingsSource(config, profile, facts, cluster)


source_options = option_group(
    "source",
    _source,
    config_option,
    profile_option,
    file_option("--facts", help="The facts file, which describes a cluster."),
    cluster_options,
)
"""Adds the options of settings, facts and clusters. The command gets them as `source`."""


class RunSettings(NamedTuple):
    """The settings of a run, with the selected checks, and its facts.

    `file` is the settings file that it follows, empty if there is none or if an option names it. `names_sharing`:
    settings, facts or a cluster say how GPUs are shared. `is_described`: there are any settings or facts. `has_facts`:
    an option names the facts, or the cluster that has them.
    """

    settings: Settings
    facts: Facts
    file: str
    names_sharing: bool
    is_described: bool
    has_facts: bool


def chosen(source: SettingsSource, selection: Selection = EVERYTHING) -> RunSettings:
    """Return the settings and facts that the options name. Raises InputError."""
    cluster = source.cluster
    file = None if cluster is not None and cluster.installed_as is not None else settings_file(source.config)
    settings, names_sharing = chosen_settings(None if file is None else file.file, source.profile)
    named = str(file) if file is not None and file.found else ""
    if cluster is None:
        facts = read_facts(source.facts, settings)
    else:
        from webhook.cli import live

        read = live.read(cluster, settings)
        settings, facts = read.settings, read.facts
    has_facts = cluster is not None or source.facts is not None
    is_described = has_facts or file is not None or bool(source.profile)
    return RunSettings(selection.apply(settings), facts, named, names_sharing or has_facts, is_described, has_facts)
