"""`check`: a verdict for every object."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from webhook.cli.evaluator import SettingsSource, prepared, source_options
from webhook.cli.options import ManifestCommand, file_option, manifest_options, read_standard_input_once
from webhook.cli.outputs import destinations
from webhook.cli.reporting import ReportOptions, report_options, reports
from webhook.cli.screen import notify, tell
from webhook.cli.selection import selection_options
from webhook.dryrun.check import results
from webhook.dryrun.inputs import Inputs
from webhook.report.model import Selection
from webhook.report.tally import Tally

if TYPE_CHECKING:
    from webhook.dryrun.baseline import ReadBaseline, WrittenBaseline

_MOST_JOBS = 256


def _jobs(_context: click.Context, _option: click.Parameter, value: int) -> int:
    """Return the number of processes. Raises BadParameter where the system cannot fork."""
    if value != 1 and not hasattr(os, "fork"):
        raise click.BadParameter("worker processes need a system that can fork; leave out -j")
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    return value or (len(affinity(0)) if affinity is not None else os.cpu_count() or 1)


@click.command(name="check", cls=ManifestCommand)
@manifest_options
@source_options
@selection_options
@file_option("--baseline", help="Leave out the findings that a baseline holds.")
@file_option(
    "--write-baseline", help="Write all findings to a baseline, and report none. Not written if there are errors."
)
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
    baseline: str | None,
    write_baseline: str | None,
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
    if baseline is not None and write_baseline is not None:
        raise click.UsageError("--write-baseline writes all findings; leave out --baseline")
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts, baseline=baseline)
    accepted = _opened(baseline, write_baseline)
    evaluator, settings = prepared(source, selection)
    with results(inputs, evaluator, selection, jobs, notify) as checked, reports(wanted) as written:
        tally = Tally(settings, selection)
        for result in checked:
            entry = result if accepted is None else accepted.suppress(result)
            tally.add(entry)
            written.add(entry)
        if accepted is not None:
            accepted.end(tally)
        written.end(tally)
    sys.exit(tally.exit_code(wanted.fail_on))


def _opened(read: str | None, write: str | None) -> ReadBaseline | WrittenBaseline | None:
    """Return the baseline to read or to write, if any. Raises InputError if it cannot be read."""
    if write is not None:
        from webhook.dryrun.baseline import WrittenBaseline  # most runs have no baseline

        return WrittenBaseline(write, partial(_write, write), tell)
    if read is not None:
        from webhook.dryrun.baseline import ReadBaseline  # as above

        return ReadBaseline(read)
    return None


def _write(file: str, text: str) -> None:
    """Write a file as a whole. Raises InputError."""
    with destinations([file]) as (write,):
        write(text)
