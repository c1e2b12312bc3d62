"""The results of a check: what is found about each object of the inputs, in this process or in several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from webhook.diagnostics import Diagnostic, Unread, listed
from webhook.dryrun.evaluation import DEFAULT_NAMESPACE, USERS, Evaluated, evaluate
from webhook.dryrun.first_pass import may_configure_plugin
from webhook.dryrun.inputs import MOST, Found, Inputs, answered, batches, entries
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Reason, Source, objects
from webhook.manifests.manifest import Comment
from webhook.policy.checks import CHECKS
from webhook.policy.messages import message, printable
from webhook.policy.verdict import DECISIONS, Decision
from webhook.report.model import Entry, LocatedFinding, Result, Selection, Suppression, Suppressor


@contextmanager
def results(
    inputs: Inputs, evaluator: OfflineEvaluator, selection: Selection, jobs: int, given: Iterable[Found]
) -> Iterator[Iterator[Entry]]:
    """Yield the results in the order of what the inputs hold. Workers end with the context. Raises InputError."""
    check = partial(answered, partial(_checked, evaluator, inputs.namespace))
    workers: AbstractContextManager[Callable[..., Iterator[Any]]] = nullcontext(partial(map, check))
    if jobs > 1:
        from webhook.dryrun.workers import ordered  # most runs have no workers

        workers = ordered(check, jobs)
    with workers as answers:
        found = answers(batches(_with_chart_values(given), 1 if jobs == 1 else MOST))
        yield _finished(evaluator, selection, listed(entries(inputs, found)))


def _finished(evaluator: OfflineEvaluator, selection: Selection, found: Iterable[Entry]) -> Iterator[Entry]:
    """Yield results with what other objects add to them, and without what their comments ignore."""
    first: dict[tuple[str, str], tuple[str, str]] = {}
    one_cluster = evaluator.snapshot.facts.nodes is not None
    for entry in found:
        if isinstance(entry, Result):
            entry = _with_other_user(entry, first, one_cluster=one_cluster) if entry.users else entry
            allowed = evaluator.snapshot.settings.suppress.comments
            entry = _without_ignored(entry, selection, allowed=allowed) if entry.comments else entry
        yield entry


def _with_chart_values(given: Iterable[Found]) -> Iterator[Found]:
    """Yield inputs, with the values beside a Chart.yaml that hold a configuration of the device plugin."""
    for one in given:
        if isinstance(one, Unread) and one.reason == Reason.CHART:
            from webhook.dryrun.configurations import read_values  # few inputs have some

            yield read_values(one)
        else:
            yield one


def _checked(evaluator: OfflineEvaluator, namespace: str, source: Source) -> Iterator[Entry]:
    for one in checked_objects(source):
        evaluated = evaluate(one, evaluator, namespace) if isinstance(one, Manifest) else one
        yield evaluated.result() if isinstance(evaluated, Evaluated) else evaluated


def checked_objects(source: Source) -> Iterable[Manifest | Diagnostic | Unread]:
    """Return the objects of an input, and the configurations of the device plugin that it holds as further ones."""
    if not may_configure_plugin(source.data):
        return objects(source)
    from webhook.dryrun.configurations import claim, configurations  # few inputs have some

    return chain(objects(source, claim), configurations(source))


def _with_other_user(result: Result, first: dict[tuple[str, str], tuple[str, str]], *, one_cluster: bool) -> Result:
    """Return a result with a finding if it uses MPS as another user than the first object that may run beside it.

    Objects of one namespace and folder may, and all objects of one cluster, whose nodes are known. Others may be meant
    for clusters that have nothing in common, as in a repository of examples. `first` holds users and their objects.
    """
    group = (result.subject.namespace or DEFAULT_NAMESPACE, result.file.rpartition("/")[0])
    group = ("", "") if one_cluster else group
    if group not in first:
        first[group] = result.users[0].value, str(result.subject)
        return result
    user, earlier = first[group]
    other = next((one for one in result.users if one.value != user), None)
    if other is None or any(located.code == USERS for located in result.findings):
        return result
    problem = f"uses MPS as user {other.value}, {{}} as user {user}; on one node they wait for each other"
    remedy = "set the same runAsUser in all of them"
    finding = replace(other, message=str(message(problem, earlier)), remedy=remedy)
    findings = sorted((*result.findings, finding), key=lambda one: one.code)
    decision = max(Decision[result.decision.upper()], DECISIONS[finding.severity])
    return result._replace(findings=tuple(findings), decision=decision.label)


_REASON = re.compile(r"(?:^|[ \t])(?:-+|\u2013|\u2014)(?:[ \t]+|$)")
"""What separates codes from the reason: a dash of any length between blanks."""

_MOST_NOTES = 20
"""Notes about the comments of one object."""


@dataclass(slots=True)
class _Ignore:
    """A code that a comment ignores, and how many findings it suppresses."""

    comment: Comment
    code: str
    reason: str
    count: int = 0


def _without_ignored(result: Result, selection: Selection, *, allowed: bool) -> Result:
    """Return the result without the findings that its comments ignore, and with notes about comments without effect."""
    if allowed:
        ignores = [ignore for comment in result.comments for ignore in _ignores(comment)]
        result = result.without(list(_suppressed(result, ignores)))
        notes = _notes(result, ignores, selection)
    else:
        problem = "the comment suppresses nothing: suppress.comments is off in the settings"
        notes = ((comment, problem) for comment in result.comments)
    every = [Diagnostic(result.file, comment.line, comment.column, text) for comment, text in notes]
    more = len(every) - _MOST_NOTES
    if more > 0:
        every[_MOST_NOTES:] = [Diagnostic(result.file, result.line, 1, f"and {more} {_MORE_NOTES}")]
    return result._replace(notes=(*result.notes, *every))


_MORE_NOTES = "more notes about comments of this object"
_CODES = sorted(check.code for check in CHECKS)


def _ignores(comment: Comment) -> Iterator[_Ignore]:
    codes, *reason = _REASON.split(comment.text, maxsplit=1)
    for code in dict.fromkeys(code.strip().upper() for code in codes.split(",")):
        if code:
            yield _Ignore(comment, code, reason[0].strip() if reason else "")


def _suppressed(result: Result, ignores: Sequence[_Ignore]) -> Iterator[Suppression]:
    applying: dict[tuple[int, str], _Ignore] = {}
    for ignore in ignores:
        applying.setdefault((ignore.comment.target, ignore.code), ignore)
    counted: list[tuple[int, str, LocatedFinding | None, int]]
    counted = [(located.line, located.code, located, 1) for located in result.findings]
    counted += [(result.line, code, None, count) for code, count in result.omitted.items()]
    for line, code, located, count in counted:
        found = applying.get((line, code)) or applying.get((result.line, code))
        if found is not None:
            found.count += count
            yield Suppression(code, Suppressor.COMMENT, located, count, found.reason)


def _notes(result: Result, ignores: Sequence[_Ignore], selection: Selection) -> Iterator[tuple[Comment, str]]:
    with_codes = {ignore.comment for ignore in ignores}
    for comment in result.comments:
        if comment not in with_codes:
            yield comment, "the comment names no check; name one, such as GPS001"
    for ignore in ignores:
        code, target = ignore.code, ignore.comment.target
        if code not in _CODES:
            from webhook.policy.settings.formats import did_you_mean  # few comments are wrong

            hint = did_you_mean(code, _CODES)
            problem = f'the comment ignores "{printable(code)}", which is not a check'
            yield ignore.comment, f"{problem}; {hint}" if hint else problem
        elif not ignore.count and selection.includes(code):
            why = f"finds nothing there (line {target})" if target else "does not apply: the next line is blank"
            yield ignore.comment, f"the comment ignores {code}, which {why}; remove it"
