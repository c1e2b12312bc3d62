"""`check`: a verdict for every object."""

from __future__ import annotations

import sys

import click

from webhook.cli.checking import checking, jobs_option
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.options import Inputs, manifest_options, read_standard_input_once
from webhook.cli.reporting import Wanted, report_options, reports
from webhook.cli.server_options import Server, server_options
from webhook.report import Tally


@click.command(name="check")
@manifest_options
@source_options
@server_options
@jobs_option
@report_options
def command(inputs: Inputs, source: Source, server: Server | None, jobs: int, wanted: Wanted) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check - -o json
      gpushare-webhook check -R manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    evaluator, settings = prepared(source)
    with checking(inputs, evaluator, server, jobs) as checked, reports(wanted) as written:
        tally = Tally(settings, checked.server)
        for entry in checked.entries:
            tally.add(entry)
            written.add(entry)
        written.end(tally)
    sys.exit(tally.exit_code(wanted.fail_on))
