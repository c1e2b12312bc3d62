"""`check`: a verdict for every object."""

from __future__ import annotations

import os
import sys

import click

from webhook.cli.baseline import BaselineOptions, baseline_options, opened
from webhook.cli.evaluator import SettingsSource, prepared, source_options
from webhook.cli.options import ManifestCommand, manifest_options, read_standard_input_once
from webhook.cli.reporting import ReportOptions, report_options, reports
from webhook.cli.screen import notify
from webhook.cli.selection import selection_options
from webhook.dryrun.check import results
from webhook.dryrun.inputs import Inputs
from webhook.report.model import Selection
from webhook.report.tally import Tally

_MOST_JOBS = 256


def _jobs(_context: click.Context, _option: click.Parameter, value: int) -> int:
    """Return the number of processes. Raises BadParameter where the system cannot fork."""
    if value != 1 and not hasattr(os, "fork"):
        raise click.BadParameter("worker processes need a system that can fork; leave out -j")
    return value or cores()


@click.command(name="check", cls=ManifestCommand)
@manifest_options
@source_options
@selection_options
@baseline_options
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(0, _MOST_JOBS),
    metavar="N",
    default=1,
    show_default=True,
    callback=_jobs,
    help="Check in N processes; 0 stands for the number of cores. The report is the same.",
)
@report_options
def command(
    inputs: Inputs,
    source: SettingsSource,
    selection: Selection,
    baseline: BaselineOptions,
    jobs: int,
    wanted: ReportOptions,
) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check - -o json
      gpushare-webhook check manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts, baseline=baseline.read)
    accepted = opened(baseline)
    evaluator, settings = prepared(source, selection)
    with results(inputs, evaluator, selection, jobs, notify) as checked, reports(wanted) as written:
        tally = Tally(settings, selection)
        for result in checked:
            entry = accepted.suppress(result)
            tally.add(entry)
            written.add(entry)
        accepted.end(tally)
        written.end(tally)
    sys.exit(tally.exit_code(wanted.fail_on))


def cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
