"""`top`: who holds which replicas."""

from __future__ import annotations

import click

from webhook.cli.options import format_option
from webhook.cli.query import AnswerFormat, ClusterQuery, ClusterView, answer, query_options
from webhook.cluster.objects import POD, all_of
from webhook.diagnose.pods import HOLDING, Owners, gpu_pods, reachable_pods
from webhook.diagnose.top import BY, NAMESPACE, NODE, Top, by_node, rows


@click.command(name="top")
@query_options
@click.option(
    "--by",
    type=click.Choice(BY),
    default=NODE,
    show_default=True,
    help="What a row is about. Nodes show totals of the whole cluster, whatever the namespace.",
)
@format_option(AnswerFormat.TEXT, "The format.")
def command(query: ClusterQuery, by: str, output: AnswerFormat) -> None:
    """Show who holds which GPU replicas in a cluster.

    A pod holds its requests while it is bound to a node and not finished, as the scheduler counts them. Which card
    the kubelet chose is not known here. Pods that ended in UnexpectedAdmissionError hold nothing and are counted apart.

    \b
    Examples:
      kubectl gpushare top
      kubectl gpushare top --by owner -n team-a
      kubectl gpushare top -A -o json
    """

    async def question(view: ClusterView) -> Top:
        if by == NODE:
            pods = await reachable_pods(view.objects, view.settings, query.namespace, query.parameters)
            counts_all = not query.selector and view.objects.has_all(POD)
            return by_node(view.settings, view.facts, pods, counts_all=counts_all)
        found = all_of(view.objects, POD, query.namespace, HOLDING, **query.parameters)
        pods = await gpu_pods(found, view.settings)
        if by == NAMESPACE:
            return Top(by, list(rows(pods, lambda pod: pod.namespace)))
        owners = await Owners.read(view.objects, query.namespace)
        return Top(by, list(rows(pods, lambda pod: f"{pod.namespace}/{owners.top(pod)}")))

    answer(query, output, question, ("nodes", "devicePlugin") if by == NODE else ())
