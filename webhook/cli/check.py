"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from webhook.cli.cluster_options import Cluster, cluster_options
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.evaluator import evaluator_for
from webhook.cli.inputs import manifests
from webhook.cli.options import format_option, manifest_options, read_standard_input_once
from webhook.cli.screen import paint, show, tell
from webhook.cli.users_of_run import CODE, UsersOfRun
from webhook.diagnostics import Diagnostic
from webhook.policy.evaluate import Evaluator
from webhook.report import Report
from webhook.report.check import CheckFormat


@click.command(name="check")
@manifest_options
@cluster_options
@format_option(CheckFormat.TEXT, "The format of the report.")
@click.option(
    "--fail-on",
    type=click.Choice(["deny", "warn"]),
    default="deny",
    show_default=True,
    help="Exit with 1 where an object is denied, or also where one is warned.",
)
def command(
    filenames: tuple[str, ...],
    recursive: bool,
    namespace: str,
    config: str | None,
    facts: str | None,
    cluster: Cluster | None,
    output: CheckFormat,
    fail_on: str,
) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check -f pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check -f - -o json
      gpushare-webhook check -R -f manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=filenames, config=config, facts=facts)
    evaluator = evaluator_for(config, facts, cluster)
    report = Report()
    users = UsersOfRun()
    for manifest in manifests(filenames, recursive):
        checked = manifest if isinstance(manifest, Diagnostic) else evaluate(manifest, evaluator, namespace)
        if isinstance(checked, Diagnostic):
            report.errors.append(checked)
            tell(str(checked))
        else:
            report.results.append(_compared(checked, users, evaluator).result())
    show(output.to_format(paint(sys.stdout))(report))
    sys.exit(report.exit_code(fail_on))


def _compared(checked: Evaluated, users: UsersOfRun, evaluator: Evaluator) -> Evaluated:
    """The evaluated object, with what its comparison with earlier objects of the run finds."""
    if not checked.verdict.users:
        return checked
    if evaluator.ruleset.settings.users.run_as_user is not None:
        return checked  # each object is checked against the configured user
    severity = evaluator.ruleset.of(checked.namespace).severities[CODE]
    return replace(checked, verdict=users.compare(checked.verdict, str(checked.subject), severity))
