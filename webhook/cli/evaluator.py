"""The evaluator of a command: its settings and facts come from files, or from a live cluster."""

from __future__ import annotations

import click

from webhook.cli.cluster_options import Cluster
from webhook.cli.inputs import configuration, read_facts
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings


def evaluator_for(config: str | None, facts: str | None, cluster: Cluster | None) -> Evaluator:
    """Return the evaluator for a settings file, and for a facts file or a cluster. Raises InputError and UsageError."""
    if cluster is not None:
        _verify(config, facts, cluster)
    settings = Settings() if config is None else configuration(config).settings
    if cluster is None:
        return Evaluator.of(settings, read_facts(facts))
    from webhook.cli import live

    read = live.read(cluster, settings)
    return Evaluator.of(read.settings, read.facts)


def _verify(config: str | None, facts: str | None, cluster: Cluster) -> None:
    """Check that the options name one source of facts and one of settings. Raises UsageError."""
    if facts is not None:
        raise click.UsageError("--facts and --context: facts come from a file or from a cluster; leave out one")
    if config is not None and cluster.installed_as is not None:
        raise click.UsageError("--config and --installed-as: both name the settings; leave out one")
    if cluster.context is None and cluster.kubeconfig is None and cluster.installed_as is None:
        raise click.UsageError("--without needs --context, --kubeconfig or --installed-as, which name a cluster")
