"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial

import click

from webhook.cli.baseline_options import BaselineOptions, baseline_options, opened
from webhook.cli.checking import checking, jobs_option
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.options import Inputs, ManifestCommand, manifest_options, read_standard_input_once
from webhook.cli.reporting import Wanted, report_options, reports
from webhook.cli.selection import selection_options
from webhook.cli.users_of_run import UsersOfRun
from webhook.diagnostics import listed
from webhook.policy.checks import CHECKS
from webhook.policy.evaluate import Evaluator
from webhook.report.model import Entry, Result
from webhook.report.selection import Selection
from webhook.report.tally import Tally


@click.command(name="check", cls=ManifestCommand)
@manifest_options
@source_options
@selection_options
@baseline_options
@jobs_option
@report_options
def command(
    inputs: Inputs,
    source: Source,
    selection: Selection,
    baseline: BaselineOptions,
    jobs: int,
    wanted: Wanted,
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
    stages = _stages(evaluator, selection)
    with checking(inputs, evaluator, jobs) as checked, reports(wanted) as written:
        tally = Tally(settings, selection)
        for found in listed(checked):
            entry = accepted.suppress(_through(stages, found))
            tally.add(entry)
            written.add(entry)
        accepted.end(tally)
        written.end(tally)
    sys.exit(tally.exit_code(wanted.fail_on))


Stage = Callable[[Result], Result]


def _stages(evaluator: Evaluator, selection: Selection) -> tuple[Stage, ...]:
    """What each result goes through, in the order of the inputs, before the baseline and the reports."""
    ignoring = partial(_without_ignored, evaluator.ruleset.settings.suppress.comments, selection)
    return (UsersOfRun().compare, ignoring)


def _without_ignored(allowed: bool, selection: Selection, result: Result) -> Result:
    """Return the result without the findings that its comments ignore."""
    if not result.comments:
        return result
    from webhook.report.suppression import Comments  # few files have such comments

    return Comments(allowed, _CODES, selection).suppress(result)


def _through(stages: Iterable[Stage], entry: Entry) -> Entry:
    """Return what the stages make of a result, one after the other; any other entry as it is."""
    if not isinstance(entry, Result):
        return entry
    for stage in stages:
        entry = stage(entry)
    return entry


_CODES = frozenset(check.code for check in CHECKS)
