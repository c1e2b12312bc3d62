"""The results of a check: what is found about each object of the inputs, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TypeVar

from webhook.diagnostics import Diagnostic, Unread, listed
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.inputs import Inputs, Notify, answered, batches, entries, found, one_by_one
from webhook.dryrun.users import UsersOfRun
from webhook.manifests import Manifest, Source, in_sections, objects
from webhook.policy.checks import CHECKS
from webhook.policy.evaluate import Evaluator
from webhook.report.model import Entry, Result, Selection

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@contextmanager
def results(
    inputs: Inputs, evaluator: Evaluator, selection: Selection, jobs: int, notify: Notify
) -> Iterator[Iterator[Entry]]:
    """Check the inputs in this process or in workers, which end with the context; the results have the order of inputs.

    Raises InputError.
    """
    grouped = one_by_one if jobs == 1 else batches
    check = partial(_checked, evaluator, inputs.namespace)
    with _mapped(partial(answered, check), jobs) as answers:
        checked = listed(entries(inputs, answers(grouped(found(inputs, in_sections, notify)))))
        yield map(partial(_compared, UsersOfRun(), evaluator, selection), checked)


def _mapped(
    function: Callable[[Task], Answer], jobs: int
) -> AbstractContextManager[Callable[[Iterable[Task]], Iterator[Answer]]]:
    if jobs == 1:
        return nullcontext(partial(map, function))
    from webhook.dryrun.workers import ordered

    return ordered(function, jobs)


def _checked(evaluator: Evaluator, namespace: str, source: Source) -> Iterator[Entry]:
    """Check the objects of an input, or of a section of it, one at a time."""
    return (_result(evaluator, namespace, one) for one in objects(source))


def _result(evaluator: Evaluator, namespace: str, one: Manifest | Diagnostic | Unread) -> Entry:
    evaluated = evaluate(one, evaluator, namespace) if isinstance(one, Manifest) else one
    return evaluated.result() if isinstance(evaluated, Evaluated) else evaluated


def _compared(users: UsersOfRun, evaluator: Evaluator, selection: Selection, entry: Entry) -> Entry:
    """Return a result with what other objects add to it, and without what its comments ignore."""
    if not isinstance(entry, Result):
        return entry
    result = users.compare(entry)
    if not result.comments:
        return result
    from webhook.dryrun.suppression import IgnoreComments  # few files have such comments

    return IgnoreComments(evaluator.ruleset.settings.suppress.comments, _CODES, selection).suppress(result)


_CODES = frozenset(check.code for check in CHECKS)
