"""`check`: a verdict for every object."""

from __future__ import annotations

import sys

import click

from webhook.cli.checking import checking, jobs_option
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.options import Inputs, Output, manifest_options, outputs_option, read_standard_input_once
from webhook.cli.reporting import reports
from webhook.report import FailOn, Tally
from webhook.report.check import CheckFormat


@click.command(name="check")
@manifest_options
@source_options
@outputs_option(CheckFormat.TEXT, "The format of the report.")
@click.option(
    "--fail-on",
    type=click.Choice([one.value for one in FailOn]),
    default=FailOn.DENY.value,
    show_default=True,
    callback=lambda _context, _option, value: FailOn(value),
    help="Exit with 1 where an object is denied, or also where one is warned, or also where one is skipped; or never.",
)
@jobs_option
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
    outputs: tuple[Output[CheckFormat], ...],
    fail_on: FailOn,
    jobs: int,
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
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    evaluator, settings = prepared(source)
    tally = Tally(settings)
    with checking(inputs, evaluator, jobs) as entries, reports(outputs, fail_on, is_quiet=is_quiet) as written:
        for entry in entries:
            tally.add(entry)
            written.add(entry)
        written.end(tally)
    sys.exit(tally.exit_code(fail_on))
