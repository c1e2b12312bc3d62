"""The results of a check: what is found about each object of the inputs, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TypeVar

from webhook.diagnostics import Diagnostic, Unread, listed
from webhook.dryrun.evaluation import USERS, Evaluated, evaluate
from webhook.dryrun.inputs import Inputs, Notify, answered, batches, entries, found, one_by_one
from webhook.manifests import Manifest, Source, in_sections, objects
from webhook.policy.checks import CHECKS
from webhook.policy.evaluate import Evaluator
from webhook.policy.messages import message
from webhook.report.model import Entry, Result, Selection, decision_with

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


class UsersOfRun:
    """Compares the users with which objects use MPS with that of the first such object."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: tuple[int, str] | None = None

    def compare(self, result: Result) -> Result:
        """The result for an object with users, with a finding if one differs from that of an earlier object."""
        if not result.users:
            return result
        if self._first is None:
            self._first = result.users[0].user, str(result.subject)
            return result
        user, earlier = self._first
        other = next((one for one in result.users if one.user != user), None)
        if other is None:
            return result
        if any(located.finding.code == USERS for located in result.findings):
            return result
        problem = message(
            f"uses MPS as user {other.user}, {{}} as user {user}; on one node they wait for each other", earlier
        )
        found = other.located(USERS, str(problem), _REMEDY)
        findings = tuple(sorted((*result.findings, found), key=lambda one: one.finding.code))
        return result._replace(findings=findings, decision=decision_with(result.decision, other.severity))


_REMEDY = "set the same runAsUser in all of them"
