"""The results of a check: what is found about each object of the inputs, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from webhook.diagnostics import Diagnostic, Unread, listed
from webhook.dryrun.evaluation import DEFAULT_NAMESPACE, USERS, Evaluated, evaluate
from webhook.dryrun.evidence.first_pass import may_configure_plugin
from webhook.dryrun.inputs import MOST, Found, Inputs, answered, batches, entries
from webhook.manifests import Manifest, Reason, Source, objects
from webhook.policy.evaluate import Evaluator
from webhook.policy.messages import message
from webhook.policy.verdict import DECISIONS, Decision
from webhook.report.model import Entry, Result, Selection


@contextmanager
def results(
    inputs: Inputs, evaluator: Evaluator, selection: Selection, jobs: int, given: Iterable[Found]
) -> Iterator[Iterator[Entry]]:
    """Yield the results in the order of what the inputs hold. Workers end with the context. Raises InputError."""
    check = partial(answered, partial(_checked, evaluator, inputs.namespace))
    with nullcontext(partial(map, check)) if jobs == 1 else _in_workers(check, jobs) as answers:
        held = batches(_with_chart_values(given), 1 if jobs == 1 else MOST)
        users = UsersOfRun(one_cluster=evaluator.ruleset.facts.nodes is not None)
        yield map(partial(_compared, users, evaluator, selection), listed(entries(inputs, answers(held))))


def _in_workers(function: Callable[[Any], Any], jobs: int) -> AbstractContextManager[Callable[..., Iterator[Any]]]:
    from webhook.dryrun.workers import ordered  # most runs have no workers

    return ordered(function, jobs)


def _with_chart_values(given: Iterable[Found]) -> Iterator[Found]:
    """Yield inputs, with the values beside a Chart.yaml that hold a configuration of the device plugin."""
    for one in given:
        if isinstance(one, Unread) and one.reason == Reason.CHART:
            from webhook.dryrun.configurations import read_values  # few inputs have some

            yield read_values(one)
        else:
            yield one


def _checked(evaluator: Evaluator, namespace: str, source: Source) -> Iterator[Entry]:
    for one in checked_objects(source):
        evaluated = evaluate(one, evaluator, namespace) if isinstance(one, Manifest) else one
        yield evaluated.result() if isinstance(evaluated, Evaluated) else evaluated


def checked_objects(source: Source) -> Iterable[Manifest | Diagnostic | Unread]:
    """Return the objects of an input, and the configurations of the device plugin that it holds as further ones."""
    if not may_configure_plugin(source.data):
        return objects(source)
    from webhook.dryrun.configurations import claim, configurations  # few inputs have some

    return chain(objects(source, claim), configurations(source))


def _compared(users: UsersOfRun, evaluator: Evaluator, selection: Selection, entry: Entry) -> Entry:
    """Return a result with what other objects add to it, and without what its comments ignore."""
    if not isinstance(entry, Result):
        return entry
    result = users.compare(entry)
    if not result.comments:
        return result
    from webhook.dryrun.suppression import without_ignored  # few files have such comments

    return without_ignored(result, selection, allowed=evaluator.ruleset.settings.suppress.comments)


class UsersOfRun:
    """Compares the users with which objects use MPS with that of the first such object that may run beside them.

    Objects of one namespace and folder may, and all objects of `one_cluster`, whose nodes are known. Others may be
    meant for clusters that have nothing in common, as in a repository of examples.
    """

    def __init__(self, *, one_cluster: bool) -> None:
        self._one_cluster = one_cluster
        self._first: dict[tuple[str, str], tuple[str, str]] = {}

    def compare(self, result: Result) -> Result:
        """The result for an object with users, with a finding if one differs from that of an earlier object."""
        if not result.users:
            return result
        group = (
            ("", "")
            if self._one_cluster
            else (result.subject.namespace or DEFAULT_NAMESPACE, result.file.rpartition("/")[0])
        )
        first = self._first.get(group)
        if first is None:
            self._first[group] = result.users[0].value, str(result.subject)
            return result
        user, earlier = first
        other = next((one for one in result.users if one.value != user), None)
        if other is None or any(located.finding.code == USERS for located in result.findings):
            return result
        problem = f"uses MPS as user {other.value}, {{}} as user {user}; on one node they wait for each other"
        remedy = "set the same runAsUser in all of them"
        finding = replace(other.finding, message=str(message(problem, earlier)), remedy=remedy)
        findings = sorted((*result.findings, replace(other, finding=finding)), key=lambda one: one.finding.code)
        decision = max(Decision[result.decision.upper()], DECISIONS[finding.severity])
        return result._replace(findings=tuple(findings), decision=decision.label)
