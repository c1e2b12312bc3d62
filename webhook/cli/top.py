"""`top`: who holds which replicas."""

from __future__ import annotations

import click

from webhook.cli.asked import AnswerFormat, Asked, World, answer, asked_options
from webhook.cli.options import format_option
from webhook.cluster.objects import POD
from webhook.live.owners import Owners
from webhook.live.pods import gpu_pods, reachable_pods
from webhook.live.top import By, Top, by_namespace, by_node, by_owner


@click.command(name="top")
@asked_options
@click.option(
    "--by",
    type=click.Choice([one.value for one in By]),
    default=By.NODE.value,
    show_default=True,
    callback=lambda _context, _option, value: By(value),
    help="What a row is about. Nodes show totals of the whole cluster, whatever the namespace.",
)
@format_option(AnswerFormat.TEXT, "The format.")
def command(asked: Asked, by: By, output: AnswerFormat) -> None:
    """Show who holds which GPU replicas in a cluster.

    A pod holds its requests while it is bound to a node and not finished, as the scheduler counts them. Which card
    the kubelet chose is not known here. Pods that ended in UnexpectedAdmissionError hold nothing and are counted apart.

    \b
    Examples:
      kubectl gpushare top
      kubectl gpushare top --by owner -n team-a
      kubectl gpushare top -A -o json
    """

    async def question(world: World) -> Top:
        if by is By.NODE:
            pods = await reachable_pods(world.objects, world.settings, asked.namespace, asked.query)
            counts_all = not asked.selector and not world.objects.lacks(POD)
            return by_node(world.settings, world.facts, pods, counts_all=counts_all)
        pods = await gpu_pods(world.objects, world.settings, asked.namespace, asked.query)
        match by:
            case By.NAMESPACE:
                return by_namespace(pods)
            case By.OWNER:
                return by_owner(pods, await Owners.read(world.objects, asked.namespace))

    answer(asked, output, question, ("nodes", "devicePlugin") if by is By.NODE else ())
