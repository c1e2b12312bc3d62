"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from webhook.cli.cluster_options import Cluster, cluster_options
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.evaluator import evaluator_for
from webhook.cli.inputs import manifests
from webhook.cli.options import format_option, manifest_options, read_standard_input_once
from webhook.cli.screen import paint, show, tell
from webhook.cli.server_options import Server, server_options
from webhook.cli.users_of_run import CODE, UsersOfRun
from webhook.diagnostics import Diagnostic
from webhook.policy.evaluate import Evaluator
from webhook.report import Report, Result
from webhook.report.check import CheckFormat


@click.command(name="check")
@manifest_options
@cluster_options
@server_options
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
    server: Server | None,
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
    with _finisher(server, evaluator) as finish:
        for manifest in manifests(filenames, recursive):
            checked = manifest if isinstance(manifest, Diagnostic) else evaluate(manifest, evaluator, namespace)
            ended = checked if isinstance(checked, Diagnostic) else finish(_compared(checked, users, evaluator))
            if isinstance(ended, Diagnostic):
                report.errors.append(ended)
                tell(str(ended))
            else:
                report.results.append(ended)
    show(output.to_format(paint(sys.stdout))(report))
    sys.exit(report.exit_code(fail_on))


@contextmanager
def _finisher(server: Server | None, evaluator: Evaluator) -> Iterator[Callable[[Evaluated], Result | Diagnostic]]:
    """Give what makes a result of an evaluated object: the local verdict alone, or a running webhook."""
    if server is None:
        yield Evaluated.result
        return
    from webhook.cli.remote import connected

    with connected(server, evaluator) as reviewer:
        yield reviewer.result


def _compared(checked: Evaluated, users: UsersOfRun, evaluator: Evaluator) -> Evaluated:
    """The evaluated object, with what its comparison with earlier objects of the run finds."""
    if not checked.verdict.users:
        return checked
    if evaluator.ruleset.settings.users.run_as_user is not None:
        return checked  # each object is checked against the configured user
    severity = evaluator.ruleset.of(checked.namespace).severities[CODE]
    return replace(checked, verdict=users.compare(checked.verdict, str(checked.subject), severity))
