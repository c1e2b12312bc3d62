"""`audit`: what enforcement would reject of all that lives in a cluster."""

from __future__ import annotations

import click

from webhook.cli.options import format_option
from webhook.cli.query import AnswerFormat, ClusterQuery, ClusterView, answer, query_options, require_some
from webhook.cluster.objects import POD
from webhook.diagnose.audit import Audit, enforcing, served, take
from webhook.dryrun.search.evaluator import OfflineEvaluator


@click.command(name="audit")
@query_options
@click.option(
    "--mode",
    type=click.Choice(["enforce"]),
    help="Check as if the mode were enforce, in every namespace. Without it, the modes of the settings apply.",
)
@format_option(AnswerFormat.TEXT, "The format.")
def command(query: ClusterQuery, mode: str | None, output: AnswerFormat) -> None:
    """Show which existing workloads the webhook would deny or warn about.

    Each workload is checked as if you created it now, and each pod that belongs to no known workload. The pods of a
    workload are counted in its line. Nothing in the cluster changes.

    \b
    Examples:
      kubectl gpushare audit -A
      kubectl gpushare audit -n team-a --mode enforce
      kubectl gpushare audit -A -o json
    """

    async def question(view: ClusterView) -> Audit:
        settings = enforcing(view.settings) if mode else view.settings
        evaluator = OfflineEvaluator.of(settings, view.facts)
        kinds = await served(view.objects, evaluator.kinds)
        rows = await take(view.objects, [evaluator], kinds, query.namespace, query.parameters)
        require_some(query, view.objects, [*kinds, POD])
        return Audit(tuple(rows), mode or "")

    answer(query, output, question)
