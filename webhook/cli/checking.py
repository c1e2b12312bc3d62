"""What `check` finds about each object of its inputs, in this process or in several."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import click

from webhook.cli.batches import answered, batches, entries
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.inputs import found
from webhook.cli.options import Inputs
from webhook.cli.users_of_run import UsersOfRun
from webhook.cli.workers import cores, ordered
from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests import Source, objects
from webhook.policy.evaluate import Evaluator
from webhook.report import Entry, Result

_MOST_JOBS = 256


def _jobs(_context: click.Context, _option: click.Parameter, value: int) -> int:
    """Return the number of processes. Raises BadParameter where the system cannot fork."""
    if value != 1 and not hasattr(os, "fork"):
        raise click.BadParameter("worker processes need a system that can fork; leave out -j")
    return value or cores()


jobs_option = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(0, _MOST_JOBS),
    metavar="N",
    default=1,
    show_default=True,
    callback=_jobs,
    help="Check in N processes; 0 stands for the number of cores. The report is the same.",
)


@contextmanager
def checking(inputs: Inputs, evaluator: Evaluator, jobs: int) -> Iterator[Iterator[Entry]]:
    """Give the entries of the report in the order of the inputs. Worker processes end with the context."""
    users = UsersOfRun()
    check = partial(_checked, evaluator, inputs.namespace)
    with ordered(partial(answered, check), jobs) as answers:
        yield (
            users.compare(entry) if isinstance(entry, Result) else entry
            for entry in entries(inputs.names, answers(batches(found(inputs))))
        )


def _checked(evaluator: Evaluator, namespace: str, source: Source) -> list[Entry]:
    """Check the objects of an input, or of a section of it."""
    return [
        one if isinstance(one, Diagnostic | Unread) else _entry(evaluate(one, evaluator, namespace))
        for one in objects(source)
    ]


def _entry(checked: Evaluated | Diagnostic) -> Entry:
    return checked if isinstance(checked, Diagnostic) else checked.result()
