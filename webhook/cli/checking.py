"""What `check` finds about each object of its inputs, in this process or in several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TypeVar

import click

from webhook.cli.batches import answered, batches, entries, one_by_one
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.inputs import found
from webhook.cli.options import Inputs
from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests import Manifest, Source, in_sections, objects
from webhook.policy.evaluate import Evaluator
from webhook.report.model import Entry

_MOST_JOBS = 256


def _jobs(_context: click.Context, _option: click.Parameter, value: int) -> int:
    """Return the number of processes. Raises BadParameter where the system cannot fork."""
    if value != 1 and not hasattr(os, "fork"):
        raise click.BadParameter("worker processes need a system that can fork; leave out -j")
    return value or cores()


def cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


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


Task = TypeVar("Task")
Answer = TypeVar("Answer")


def _mapped(
    function: Callable[[Task], Answer], jobs: int
) -> AbstractContextManager[Callable[[Iterable[Task]], Iterator[Answer]]]:
    if jobs == 1:
        return nullcontext(partial(map, function))
    from webhook.cli.workers import ordered

    return ordered(function, jobs)


@contextmanager
def checking(inputs: Inputs, evaluator: Evaluator, jobs: int) -> Iterator[Iterator[Entry]]:
    """Check the inputs in this process or in workers, which end with the context; the entries have the order of inputs.

    Raises InputError.
    """
    grouped = one_by_one if jobs == 1 else batches
    check = partial(_checked, evaluator, inputs.namespace)
    with _mapped(partial(answered, check), jobs) as answers:
        yield entries(inputs, answers(grouped(found(inputs, in_sections))))


def _checked(evaluator: Evaluator, namespace: str, source: Source) -> Iterator[Entry]:
    """Check the objects of an input, or of a section of it, one at a time."""
    return (_result(evaluator, namespace, one) for one in objects(source))


def _result(evaluator: Evaluator, namespace: str, one: Manifest | Diagnostic | Unread) -> Entry:
    evaluated = evaluate(one, evaluator, namespace) if isinstance(one, Manifest) else one
    return evaluated.result() if isinstance(evaluated, Evaluated) else evaluated
