"""`doctor`: faults of the node side and of the installation."""

from __future__ import annotations

import click
from click.core import ParameterSource

from webhook.cli.options import format_option, formatted
from webhook.cli.query import AnswerFormat, ClusterQuery, ClusterView, answer, query_options
from webhook.diagnose.doctor.answer import Doctor, examine
from webhook.diagnose.doctor.seen import gather
from webhook.policy.settings.formats import NAMESPACED_NAME


@click.command(name="doctor")
@query_options
@click.option(
    "--device-plugin-daemonset",
    "plugin",
    metavar="NAMESPACE/NAME",
    callback=formatted(NAMESPACED_NAME),
    help="The DaemonSet of the device plugin: its namespace is one that administrators alone use.",
)
@format_option(AnswerFormat.TEXT, "The format.")
@click.pass_context
def command(context: click.Context, query: ClusterQuery, plugin: str | None, output: AnswerFormat) -> None:
    """Find faults of the GPU nodes, the device plugin and the webhook.

    Each finding has the cause, the evidence and the fix, in the order in which to apply them. The command examines
    the whole cluster; with -n, only pods, events and quotas of one namespace. The exit code is 1 if there are
    findings, and 2 if something that the answer depends on could not be read. What a tenant may have written is a
    warning that says so, and changes no node.

    \b
    Examples:
      kubectl gpushare doctor
      kubectl gpushare doctor --installed-as gpushare-webhook/gpushare-webhook -o json
    """
    is_given = context.get_parameter_source("namespace") is ParameterSource.COMMANDLINE
    namespace = query.namespace if is_given else None

    async def question(view: ClusterView) -> Doctor:
        installed_as = query.cluster.installed_as
        return examine(await gather(view.objects, view.settings, view.facts, namespace, installed_as, plugin))

    answer(query, output, question, ("namespaces", "runtimeClasses"))
