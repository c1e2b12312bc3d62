"""The evaluator of a command: its settings and facts come from files, or from a live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, get_args

import click

from webhook.cli.cluster_options import Cluster, cluster_options
from webhook.cli.options import file_option, option_group, single_option
from webhook.dryrun.files import FILE, VARIABLE, chosen_settings, read_facts, settings_file
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.model import EVERYTHING, Selection
from webhook.settings.options import Option, Profile

if TYPE_CHECKING:
    from webhook.dryrun.evidence.first_pass import FirstPass
    from webhook.report.evidence import Evidence

config_option = file_option(
    "--config",
    help=f"The settings file. Without it, {VARIABLE} names one, or a {FILE} in the working directory or "
    "above it in the repository applies.",
)
profile_option = single_option(
    "--profile",
    type=click.Choice(get_args(Profile)),
    help="The profile of the settings. Overrides that of the settings file.",
)


class SettingsSource(NamedTuple):
    """Where settings and facts come from: the values of options, and the cluster that other options name."""

    config: str | None
    profile: str | None
    facts: str | None
    cluster: Cluster | None


source_options = option_group(
    "source",
    SettingsSource,
    config_option,
    profile_option,
    file_option("--facts", help="The facts file, which describes a cluster."),
    cluster_options,
)
"""Adds the options of settings, facts and clusters. The command gets them as `source`."""


class Chosen(NamedTuple):
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

    def evaluator(self) -> Evaluator:
        """Return the evaluator for these settings and facts."""
        return Evaluator.of(self.settings, self.facts)


def chosen(source: SettingsSource, selection: Selection = EVERYTHING) -> Chosen:
    """Return the settings and facts for the options. Raises InputError and UsageError."""
    cluster = source.cluster
    if cluster is not None:
        _verify(source, cluster)
    file = None if cluster is not None and cluster.installed_as is not None else settings_file(source.config)
    options = [] if source.profile is None else [Option("--profile", "", "profile", source.profile)]
    settings, names_sharing = chosen_settings(None if file is None else file.file, options)
    named = str(file) if file is not None and file.found else ""
    if cluster is None:
        facts, has_facts = read_facts(source.facts, settings), source.facts is not None
        is_described = has_facts or file is not None or bool(options)
        settings = selection.apply(settings)
        return Chosen(settings, facts, named, names_sharing or has_facts, is_described, has_facts)
    from webhook.cli import live

    read = live.read(cluster, settings)
    settings = selection.apply(read.settings)
    return Chosen(settings, read.facts, named, names_sharing=True, is_described=True, has_facts=True)


class Prepared(NamedTuple):
    """The evaluator of a run of `check`, whether anything says how GPUs are shared, and what the inputs show."""

    evaluator: Evaluator
    names_sharing: bool
    evidence: Evidence | None


def prepared(chosen: Chosen, first: FirstPass | None, namespace: str) -> Prepared:
    """Return the evaluator for settings, facts and what the inputs show, if there was a first pass over them.

    `namespace` is that of objects that name none.
    """
    names_sharing, evidence = chosen.names_sharing, None
    if first is None or not first.shows_anything:
        evaluator = chosen.evaluator()
    else:
        from webhook.dryrun.evidence.cluster import known_from  # most inputs show nothing

        known = known_from(first, chosen.settings, namespace, says_sharing=not names_sharing)
        evaluator = Evaluator.of(chosen.settings, known.facts, known.shown)
        names_sharing = names_sharing or evaluator.ruleset.nodes.are_shown
        evidence = known.evidence
    evaluator.ruleset.trusts_markers = not (chosen.is_described or names_sharing)
    return Prepared(evaluator, names_sharing, evidence)


def _verify(source: SettingsSource, cluster: Cluster) -> None:
    """Check that the options name one source of facts and one of settings. Raises UsageError."""
    if source.facts is not None:
        raise click.UsageError("--facts and --context: facts come from a file or from a cluster; leave out one")
    if cluster.installed_as is not None:
        for option, value in (("--config", source.config), ("--profile", source.profile)):
            if value is not None:
                raise click.UsageError(f"{option} and --installed-as: both name the settings; leave out one")
    if cluster.context is None and cluster.kubeconfig is None and cluster.installed_as is None:
        raise click.UsageError("--without needs --context, --kubeconfig or --installed-as, which name a cluster")
