"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import click

from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.inputs import manifests
from webhook.cli.options import Inputs, manifest_options, read_standard_input_once
from webhook.cli.reporting import Wanted, report_options, reports
from webhook.cli.server_options import Server, server_options
from webhook.cli.users_of_run import UsersOfRun
from webhook.diagnostics import Diagnostic, Unread
from webhook.policy.evaluate import Evaluator
from webhook.report import Entry, Result, Tally


@click.command(name="check")
@manifest_options
@source_options
@server_options
@report_options
def command(inputs: Inputs, source: Source, server: Server | None, wanted: Wanted) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check - -o json
      gpushare-webhook check -R manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    evaluator, settings = prepared(source)
    with _results(server, evaluator) as results, reports(wanted) as written:
        tally = Tally(settings, results.server)
        users = UsersOfRun()
        for found in results.of(_evaluated(inputs, evaluator)):
            entry = users.compare(found) if isinstance(found, Result) else found
            tally.add(entry)
            written.add(entry)
        written.end(tally)
    sys.exit(tally.exit_code(wanted.fail_on))


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
