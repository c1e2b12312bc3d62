"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import click

from webhook.cli.baseline_file import BaselineOptions, baseline_options, opened
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.inputs import manifests
from webhook.cli.options import Inputs, manifest_options, read_standard_input_once
from webhook.cli.reporting import Wanted, report_options, reports
from webhook.cli.selection import selection_options
from webhook.cli.server_options import Server, server_options
from webhook.cli.users_of_run import UsersOfRun
from webhook.diagnostics import Diagnostic, Unread
from webhook.policy.checks import CHECKS
from webhook.policy.evaluate import Evaluator
from webhook.report import Entry, Result, Tally
from webhook.report.selection import Selection
from webhook.report.suppression import Comments


@click.command(name="check")
@manifest_options
@source_options
@selection_options
@baseline_options
@server_options
@report_options
def command(
    inputs: Inputs,
    source: Source,
    selection: Selection,
    baseline: BaselineOptions,
    server: Server | None,
    wanted: Wanted,
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
    with _results(server, evaluator) as results, reports(wanted) as written:
        tally = Tally(settings, results.server, selection)
        comments = Comments(evaluator.ruleset.settings.suppress.comments, _CODES, selection)
        # A running webhook makes all checks, whatever is selected.
        stages = (partial(Result.only, includes=selection.includes), UsersOfRun().compare, comments.suppress)
        for found in results.of(_evaluated(inputs, evaluator)):
            entry = accepted.suppress(_through(stages, found))
            tally.add(entry)
            written.add(entry)
        accepted.end(tally)
        written.end(tally)
    sys.exit(tally.exit_code(wanted.fail_on))


def _through(stages: Iterable[Callable[[Result], Result]], entry: Entry) -> Entry:
    """Return what the stages make of a result, one after the other; any other entry as it is."""
    if not isinstance(entry, Result):
        return entry
    for stage in stages:
        entry = stage(entry)
    return entry


_CODES = frozenset(check.code for check in CHECKS)


class _Results(NamedTuple):
    """What makes results of evaluated objects, and the address of the running webhook that decides; empty for none."""

    of: Callable[[Iterable[Evaluated | Diagnostic | Unread]], Iterator[Entry]]
    server: str


@contextmanager
def _results(server: Server | None, evaluator: Evaluator) -> Iterator[_Results]:
    """Give the results of the local run, or those of a running webhook. Raises InputError and UsageError."""
    if server is None:
        yield _Results(_local_results, "")
        return
    from webhook.cli.remote import connected

    with connected(server, evaluator) as reviewer:
        yield _Results(reviewer.results, reviewer.server)


def _local_results(entries: Iterable[Evaluated | Diagnostic | Unread]) -> Iterator[Entry]:
    for entry in entries:
        yield entry.result() if isinstance(entry, Evaluated) else entry


def _evaluated(inputs: Inputs, evaluator: Evaluator) -> Iterator[Evaluated | Diagnostic | Unread]:
    """Evaluate the manifests in order, one at a time."""
    for manifest in manifests(inputs):
        if isinstance(manifest, Diagnostic | Unread):
            yield manifest
        else:
            yield evaluate(manifest, evaluator, inputs.namespace)
