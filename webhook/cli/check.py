"""`check`: a verdict for every object."""

from __future__ import annotations

import sys

import click

from webhook.cli.checking import checking, jobs_option
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.options import Inputs, Output, manifest_options, outputs_option, read_standard_input_once
from webhook.cli.reporting import reports
from webhook.cli.screen import tell
from webhook.diagnostics import Diagnostic
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
def command(
    inputs: Inputs, source: Source, outputs: tuple[Output[CheckFormat], ...], fail_on: FailOn, jobs: int
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
    with checking(inputs, evaluator, jobs) as checked, reports(outputs) as written:
        for entry in checked:
            if isinstance(entry, Diagnostic):
                tell(str(entry))
            tally.add(entry)
            written.add(entry)
        written.end(tally)
    sys.exit(tally.exit_code(fail_on))
