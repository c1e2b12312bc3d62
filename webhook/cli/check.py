"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from webhook.cli.baseline_file import BaselineOptions, baseline_options, opened
from webhook.cli.evaluation import evaluate
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.inputs import manifests
from webhook.cli.options import Inputs, Output, manifest_options, outputs_option, read_standard_input_once
from webhook.cli.reporting import reports
from webhook.cli.selection import selection_options
from webhook.cli.users_of_run import UsersOfRun
from webhook.diagnostics import Diagnostic, Unread
from webhook.policy.checks import CHECKS
from webhook.policy.evaluate import Evaluator
from webhook.report import Entry, FailOn, Tally
from webhook.report.check import CheckFormat
from webhook.report.selection import Selection
from webhook.report.suppression import Comments


@click.command(name="check")
@manifest_options
@source_options
@selection_options
@baseline_options
@outputs_option(CheckFormat.TEXT, "The format of the report.")
@click.option(
    "--fail-on",
    type=click.Choice([one.value for one in FailOn]),
    default=FailOn.DENY.value,
    show_default=True,
    callback=lambda _context, _option, value: FailOn(value),
    help="Exit with 1 if an object is denied (deny), denied or warned (warn), or denied, warned or skipped (skipped); "
    "or never. Errors always exit with 2.",
)
@click.option(
    "-q",
    "--quiet",
    "is_quiet",
    is_flag=True,
    help="Of the text report, only the findings that deny an object or fail the run, without a summary.",
)
def command(
    inputs: Inputs,
    source: Source,
    selection: Selection,
    baseline: BaselineOptions,
    outputs: tuple[Output[CheckFormat], ...],
    fail_on: FailOn,
    *,
    is_quiet: bool,
) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check - -o json
      gpushare-webhook check -R manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts, baseline=baseline.read)
    accepted = opened(baseline)
    evaluator, settings = prepared(source, selection)
    tally = Tally(settings, selection)
    with reports(outputs, fail_on, is_quiet=is_quiet) as written:
        for entry in map(accepted.suppress, _entries(inputs, evaluator, selection)):
            tally.add(entry)
            written.add(entry)
        accepted.end(tally)
        written.end(tally)
    sys.exit(tally.exit_code(fail_on))


def _entries(inputs: Inputs, evaluator: Evaluator, selection: Selection) -> Iterator[Entry]:
    """Check the manifests in order, one at a time, and leave out what their comments ignore."""
    users = UsersOfRun()
    comments = Comments(evaluator.ruleset.settings.suppress.comments, _CODES, selection)
    for manifest in manifests(inputs):
        if isinstance(manifest, Diagnostic | Unread):
            yield manifest
            continue
        checked = evaluate(manifest, evaluator, inputs.namespace)
        yield checked if isinstance(checked, Diagnostic) else comments.suppress(users.compare(checked.result()))


_CODES = frozenset(check.code for check in CHECKS)
