"""`audit`: what enforcement would reject of all that lives in a cluster."""

from __future__ import annotations

import sys
from enum import Enum

import click

from webhook.cli.asked import AnswerFormat, Asked, World, ask, asked_options, require_some, tell_left_out, write
from webhook.cli.options import format_option
from webhook.cli.screen import show
from webhook.cluster.objects import POD, LeftOut
from webhook.cluster.served import served
from webhook.live.audit.census import take
from webhook.live.audit.modes import enforcing
from webhook.live.audit.outcome import Auditor
from webhook.live.audit.report import Audit
from webhook.policy.evaluate import Evaluator
from webhook.report.check import CheckFormat
from webhook.report.exit_codes import ExitCode
from webhook.report.writer import Page


class AuditFormat(Enum):
    """A format of an audit. The value is the word that `-o` takes."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    NAME = "name"
    OPENREPORTS = "openreports"


@click.command(name="audit")
@asked_options
@click.option(
    "--mode",
    type=click.Choice(["enforce"]),
    help="Check as if the mode were enforce, in every namespace. Without it, the modes of the settings apply.",
)
@format_option(AuditFormat.TEXT, "The format. openreports writes Report objects for `kubectl apply -f -`.")
def command(asked: Asked, mode: str | None, output: AuditFormat) -> None:
    """Show what the webhook would deny or warn of among all that lives in a cluster.

    Each workload is checked as if you created it now, and each pod that no known workload made. The pods of a workload
    are counted in its line. Nothing in the cluster changes.

    \b
    Examples:
      kubectl gpushare audit -A
      kubectl gpushare audit -n team-a --mode enforce
      kubectl gpushare audit -A -o openreports | kubectl apply -f -
    """

    async def question(world: World) -> Audit:
        settings = enforcing(world.settings) if mode else world.settings
        evaluator = Evaluator.of(settings, world.facts)
        kinds = await served(world.objects, evaluator.kinds)
        census = await take(world.objects, Auditor([evaluator]), kinds, asked.namespace, asked.query)
        require_some(asked, world.objects, [*(kind.listed for kind in kinds), POD])
        return Audit(tuple(census.rows()), mode or "")

    found, left_out = ask(asked, question)
    _write(found, left_out, output)
    if found.is_denied:
        sys.exit(ExitCode.DENIED)


def _write(found: Audit, left_out: list[LeftOut], output: AuditFormat) -> None:
    match output:
        case AuditFormat.TEXT | AuditFormat.JSON | AuditFormat.YAML:
            write(found, left_out, AnswerFormat(output.value))
            return
        case AuditFormat.OPENREPORTS:
            from webhook.live.audit.openreports import reports  # few runs write them
            from webhook.report.data import yaml_text

            for number, one in enumerate(reports(found)):
                show(("---\n" if number else "") + yaml_text(one))
        case _:
            from webhook.live.audit.entries import written

            for text in written(found, CheckFormat(output.value).writer(Page())):
                show(text)
    tell_left_out(left_out)
