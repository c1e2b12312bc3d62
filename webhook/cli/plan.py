"""`plan`: what a change does to all that lives in a cluster."""

from __future__ import annotations

import sys
from functools import partial
from typing import NamedTuple

import click

from webhook.cli.asked import AnswerFormat, Asked, World, answer, asked_options, require_some
from webhook.cli.options import file_option, format_option, read_standard_input_once
from webhook.cluster.objects import POD
from webhook.cluster.served import served
from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.dryrun.files import configuration, standard_input
from webhook.live.audit.modes import enforcing
from webhook.live.plan.configuration import new_plugin
from webhook.live.plan.report import Plan
from webhook.live.plan.worlds import Question, plan, worlds
from webhook.manifests import Manifest, Source, objects, source
from webhook.policy.settings.settings import Settings
from webhook.report.exit_codes import ExitCode


class Change(NamedTuple):
    """What the options name: a configuration of the device plugin, settings, a mode, and what else to answer."""

    plugin: Source | None
    settings: Settings | None
    enforces: bool
    to_dra: bool
    manifests: tuple[Manifest | Diagnostic, ...]


@click.command(name="plan")
@asked_options
@file_option(
    "--device-plugin-config",
    "plugin",
    help="A new configuration of the device plugin: a file of its own, or a ConfigMap with several.",
)
@file_option("--config", help="New settings of the webhook.")
@click.option("--enforce", is_flag=True, help="The mode enforce, in every namespace.")
@click.option(
    "--to",
    type=click.Choice(["dra"]),
    help="Show which workloads run unchanged with dynamic resource allocation. Nothing is converted.",
)
@file_option("--fit", help="Manifests: how many of their pods fit now, and where, by free replicas.")
@format_option(AnswerFormat.TEXT, "The format.")
def command(
    asked: Asked,
    plugin: str | None,
    config: str | None,
    enforce: bool,
    to: str | None,
    fit: str | None,
    output: AnswerFormat,
) -> None:
    """Show what a change does to all that lives in a cluster, before you make it.

    Only changes are printed: nodes, verdicts, pods that no longer fit, and the order in which to restart the device
    plugin. The exit code is 1 if something gets worse.

    \b
    Examples:
      kubectl gpushare plan -A --device-plugin-config new.yaml
      kubectl gpushare plan -A --enforce
      kubectl gpushare plan -A --to dra
      kubectl gpushare plan --fit job.yaml
    """
    if not (plugin or config or enforce or to or fit):
        raise click.UsageError(
            "name a change: --device-plugin-config, --config, --enforce or --to; or name pods: --fit"
        )
    read_standard_input_once(**{"device-plugin-config": plugin, "config": config, "fit": fit})
    change = Change(
        None if plugin is None else _source(plugin),
        None if config is None else configuration(config).settings,
        enforce,
        to is not None,
        () if fit is None else tuple(_manifests(_source(fit))),
    )
    if answer(asked, output, partial(_planned, asked, change)).is_worse:
        sys.exit(ExitCode.DENIED)


async def _planned(asked: Asked, change: Change, world: World) -> Plan:
    """Compare the cluster before and after a change. Raises InputError."""
    wanted = world.settings if change.settings is None else change.settings
    plugin = None if change.plugin is None else new_plugin(change.plugin, world.facts.device_plugin, wanted)
    two = worlds(world.settings, world.facts, enforcing(wanted) if change.enforces else wanted, plugin)
    reads_all = two.differ or change.to_dra
    kinds = await served(world.objects, {**two.before.kinds, **two.after.kinds}) if reads_all else []
    asks = Question(asked.namespace, asked.query, change.to_dra, change.manifests)
    found = await plan(world.objects, two, kinds, asks)
    require_some(asked, world.objects, [*(kind.listed for kind in kinds), POD])
    return found


def _source(file: str) -> Source:
    """The content of a file. Raises InputError."""
    found = source(file, standard_input())
    if isinstance(found, Diagnostic):
        raise InputError([found])
    return found


def _manifests(given: Source) -> list[Manifest | Diagnostic]:
    return [one for one in objects(given) if not isinstance(one, Unread)]
