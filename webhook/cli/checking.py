"""What `check` finds about each object of its inputs, in this process or in several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

import click

from webhook.cli.batches import answered, batches, entries, one_by_one
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.inputs import found, manifests
from webhook.cli.options import Inputs
from webhook.cli.server_options import Server
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


class Checked(NamedTuple):
    """The entries of the report in the order of the inputs, and the address of the webhook that decides, if any."""

    entries: Iterator[Entry]
    server: str


@contextmanager
def checking(inputs: Inputs, evaluator: Evaluator, server: Server | None, jobs: int) -> Iterator[Checked]:
    """Check the inputs in this process, in workers, or by a running webhook. Raises InputError and UsageError.

    Workers and connections end with the context.
    """
    evaluated = partial(_evaluated, evaluator, inputs.namespace)
    if server is None:
        grouped = one_by_one if jobs == 1 else batches
        check = partial(_checked, evaluated)
        with _mapped(partial(answered, check), jobs) as answers:
            yield Checked(entries(inputs, answers(grouped(found(inputs, in_sections)))), "")
        return
    if jobs != 1:
        raise click.UsageError("-j and --server: all reviews use one connection; leave out -j")
    from webhook.cli.remote import connected

    with connected(server, evaluator) as reviewer:
        yield Checked(reviewer.results(map(evaluated, manifests(inputs))), reviewer.server)


Content: TypeAlias = "Manifest | Diagnostic | Unread"
"""What an input holds."""


def _checked(evaluated: Callable[[Content], Evaluated | Diagnostic | Unread], source: Source) -> Iterator[Entry]:
    """Check the objects of an input, or of a section of it, one at a time."""
    return (one.result() if isinstance(one, Evaluated) else one for one in map(evaluated, objects(source)))


def _evaluated(evaluator: Evaluator, namespace: str, one: Content) -> Evaluated | Diagnostic | Unread:
    return evaluate(one, evaluator, namespace) if isinstance(one, Manifest) else one
