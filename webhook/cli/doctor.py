"""`doctor`: faults of the node side and of the installation."""

from __future__ import annotations

import sys

import click
from click.core import ParameterSource

from webhook.cli.asked import AnswerFormat, Asked, World, answer, asked_options
from webhook.cli.options import format_option
from webhook.live.doctor.answer import Doctor, examine
from webhook.live.doctor.gathering import gather
from webhook.report.exit_codes import ExitCode


@click.command(name="doctor")
@asked_options
@format_option(AnswerFormat.TEXT, "The format.")
@click.pass_context
def command(context: click.Context, asked: Asked, output: AnswerFormat) -> None:
    """Find faults of the GPU nodes, the device plugin and the webhook.

    Each finding has a cause, what shows it, and the command or the edit that helps; what to do first comes first. The
    whole cluster is examined; with -n, only pods, events and quotas of one namespace. The exit status is 1 if a finding
    is an error.

    \b
    Examples:
      kubectl gpushare doctor
      kubectl gpushare doctor --installed-as gpushare-webhook/gpushare-webhook -o json
    """
    is_given = context.get_parameter_source("namespace") is ParameterSource.COMMANDLINE
    namespace = asked.namespace if is_given else None

    async def question(world: World) -> Doctor:
        seen = await gather(world.objects, world.settings, world.facts, namespace, asked.cluster.installed_as)
        return examine(seen)

    found = answer(asked, output, question)
    if isinstance(found, Doctor) and found.has_errors:
        sys.exit(ExitCode.DENIED)
