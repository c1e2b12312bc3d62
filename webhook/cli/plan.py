"""`plan`: the effect of a change on existing workloads."""

from __future__ import annotations

import click

from webhook.cli.options import file_option, format_option, read_standard_input_once
from webhook.cli.query import AnswerFormat, ClusterQuery, ClusterView, answer, query_options, require_some
from webhook.cluster.objects import POD
from webhook.diagnose.audit import enforcing, served
from webhook.diagnose.plan.report import Plan, plan
from webhook.diagnose.plan.worlds import worlds
from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.dryrun.files import configuration, standard_input
from webhook.manifests import Source, objects, source


@click.command(name="plan")
@query_options
@file_option(
    "--device-plugin-config",
    "plugin",
    help="A new configuration of the device plugin: a file of its own, or a ConfigMap with several.",
)
@file_option("--config", help="New settings of the webhook.")
@click.option("--enforce", is_flag=True, help="The mode enforce, in every namespace.")
@file_option("--fit", help="Manifests: how many of their pods fit now, and where, by all resources and quotas.")
@format_option(AnswerFormat.TEXT, "The format.")
def command(
    query: ClusterQuery,
    plugin: str | None,
    config: str | None,
    enforce: bool,
    fit: str | None,
    output: AnswerFormat,
) -> None:
    """Preview the effect of a change on existing workloads.

    Only changes are printed: nodes, verdicts, pods that no longer fit, and the order in which to restart the device
    plugin. The exit code is 1 if something gets worse. --fit says how many pods of manifests fit, and what bounds them;
    pods of a lower priority, which the scheduler may evict, keep their places.

    \b
    Examples:
      kubectl gpushare plan -A --device-plugin-config new.yaml
      kubectl gpushare plan -A --enforce
      kubectl gpushare plan --fit job.yaml
    """
    if not (plugin or config or enforce or fit):
        raise click.UsageError("name a change: --device-plugin-config, --config or --enforce; or name pods: --fit")
    read_standard_input_once(**{"device-plugin-config": plugin, "config": config, "fit": fit})
    new_config = None if plugin is None else _source(plugin)
    new_settings = None if config is None else configuration(config).settings
    manifests = [] if fit is None else [one for one in objects(_source(fit)) if not isinstance(one, Unread)]

    async def question(view: ClusterView) -> Plan:
        wanted = new_settings or view.settings
        two = worlds(view.settings, view.facts, enforcing(wanted) if enforce else wanted, new_config)
        kinds = await served(view.objects, {**two.before.kinds, **two.after.kinds}) if two.differ else []
        found = await plan(view.objects, two, kinds, query.namespace, query.parameters, manifests)
        require_some(query, view.objects, [*kinds, POD])
        return found

    answer(query, output, question)


def _source(file: str) -> Source:
    """The content of a file. Raises InputError."""
    found = source(file, standard_input())
    if isinstance(found, Diagnostic):
        raise InputError([found])
    return found
