"""Findings that comments in a file suppress: `# gpushare-webhook: ignore GPS001, GPS009 - reason`.

The rule: a comment applies to the line that it ends, or, on a line of its own, to the next line. It suppresses what the
named checks find about a value on that line. On the first line of an object it suppresses it in the whole object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from webhook.diagnostics import Diagnostic
from webhook.manifests.comments import Comment
from webhook.policy.checks import CHECKS
from webhook.policy.messages import printable
from webhook.policy.settings.formats import did_you_mean
from webhook.report.model import Result, Selection, Suppression, Suppressor

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


def without_ignored(result: Result, selection: Selection, *, allowed: bool) -> Result:
    """Return the result without the findings that its comments ignore, and with notes about comments without effect."""
    if not allowed:
        message = "the comment suppresses nothing: suppress.comments is off in the settings"
        return _noted(result, (_note(result, one, message) for one in result.comments))
    ignores = [ignore for comment in result.comments for ignore in _ignores(comment)]
    applying: dict[tuple[int, str], _Ignore] = {}
    for one in ignores:
        applying.setdefault((one.comment.target, one.code), one)
    suppressed = list(_suppressed(result, applying))
    return _noted(result.without(suppressed), _notes(result, ignores, selection))


_CODES = sorted(check.code for check in CHECKS)


def _notes(result: Result, ignores: Sequence[_Ignore], selection: Selection) -> Iterator[Diagnostic]:
    with_codes = {one.comment for one in ignores}
    for comment in result.comments:
        if comment not in with_codes:
            yield _note(result, comment, "the comment names no check; name one, such as GPS001")
    for one in ignores:
        if one.code not in _CODES:
            hint = did_you_mean(one.code, _CODES)
            problem = f'the comment ignores "{printable(one.code)}", which is not a check'
            yield _note(result, one.comment, f"{problem}; {hint}" if hint else problem)
        elif not one.count and selection.includes(one.code):
            yield _note(result, one.comment, f"the comment ignores {one.code}, which {_where(one)}; remove it")


def _suppressed(result: Result, applying: dict[tuple[int, str], _Ignore]) -> Iterator[Suppression]:
    for located in result.findings:
        code = located.finding.code
        ignore = applying.get((located.line, code)) or applying.get((result.line, code))
        if ignore is not None:
            ignore.count += 1
            yield Suppression(code, Suppressor.COMMENT, located, reason=ignore.reason)
    for code, count in result.omitted.items():
        ignore = applying.get((result.line, code))
        if ignore is not None:
            ignore.count += count
            yield Suppression(code, Suppressor.COMMENT, None, count, ignore.reason)


def _ignores(comment: Comment) -> Iterator[_Ignore]:
    codes, *reason = _REASON.split(comment.text, maxsplit=1)
    for code in dict.fromkeys(code.strip().upper() for code in codes.split(",")):
        if code:
            yield _Ignore(comment, code, reason[0].strip() if reason else "")


def _where(ignore: _Ignore) -> str:
    if not ignore.comment.target:
        return "does not apply: the next line is blank"
    return f"finds nothing there (line {ignore.comment.target})"


def _note(result: Result, comment: Comment, message: str) -> Diagnostic:
    return Diagnostic(result.file, comment.line, comment.column, message)


def _noted(result: Result, notes: Iterator[Diagnostic]) -> Result:
    """Return the result with the first notes, and the number of further ones."""
    kept = tuple(islice(notes, _MOST_NOTES))
    more = sum(1 for _ in notes)
    if more:
        kept += (Diagnostic(result.file, result.line, 1, f"and {more} more notes about comments of this object"),)
    return result._replace(notes=(*result.notes, *kept)) if kept else result
