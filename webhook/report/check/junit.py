"""A report as JUnit XML: a suite for each file, a test case for each object.

The shape is the one that Jenkins accepts (jenkinsci/xunit-plugin, junit-10.xsd). It has no severity: what is denied is
a failure, and warnings are output of the test case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from webhook.diagnostics import LINE, Diagnostic, Unread
from webhook.policy.messages import printable
from webhook.policy.verdict import Decision, Severity
from webhook.report.model import SKIPPED, Entry, LocatedFinding, Result
from webhook.report.tally import Tally, further

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="gpushare-webhook">\n'
_LARGEST = 500
"""Test cases of a suite. The suite of a file with more continues in another, so that no file is kept as a whole."""


class _Case(NamedTuple):
    """A test case: its name and, if it did not pass, what counts it (`failures`, `errors`, `skipped`)."""

    name: str
    counted: str = ""
    body: str = ""


class JunitWriter:
    """Writes a suite when the next one begins, since a suite begins with its counts."""

    def __init__(self) -> None:
        self._before = _HEAD
        self._file = ""
        self._cases: list[_Case] = []

    def add(self, entry: Entry) -> str:
        suite = ""
        if entry.file != self._file or len(self._cases) == _LARGEST:
            suite = self._suite()
            self._file = entry.file
        self._cases.append(_case(entry))
        return suite

    def end(self, tally: Tally) -> str:  # noqa: ARG002 - the signature of a Writer
        return f"{self._suite()}{self._before}</testsuites>\n"

    def _suite(self) -> str:
        if not self._cases:
            return ""
        counts = " ".join(
            f'{counted}="{sum(case.counted == counted for case in self._cases)}"'
            for counted in ("failures", "errors", "skipped")
        )
        name = _attribute(self._file)
        cases = "".join(
            f"    <testcase name={_attribute(case.name)} classname={name}>{case.body}</testcase>\n"
            for case in self._cases
        )
        head, self._before = self._before, ""
        text = f'{head}  <testsuite name={name} tests="{len(self._cases)}" {counts}>\n{cases}  </testsuite>\n'
        self._cases = []
        return text


def _case(entry: Entry) -> _Case:
    match entry:
        case Result():
            return _of_result(entry)
        case Diagnostic():
            return _Case("can be read", "errors", _element("error", "unreadable", entry.message, str(entry)))
        case Unread():
            return _Case("is read", "skipped", _element("skipped", "unread", entry.reason))


def _of_result(result: Result) -> _Case:
    name = str(result.subject)
    if result.decision == SKIPPED:
        return _Case(name, "skipped", _element("skipped", "skipped", result.reason))
    is_denied = result.decision == Decision.DENIED.label
    denying = [finding for finding in result.findings if is_denied and finding.severity is Severity.DENY]
    others = [finding for finding in result.findings if finding not in denying]
    notes = [*_lines(result, others), *further(result), *([result.reason] if result.reason else [])]
    output = f"<system-out>{_text(notes)}</system-out>" if notes else ""
    return _Case(name, "failures", _failure(result, denying) + output) if is_denied else _Case(name, "", output)


def _failure(result: Result, denying: Sequence[LocatedFinding]) -> str:
    if not denying:
        return _element("failure", "denied", "denied by findings that are not listed")
    first = denying[0]
    more = f" (and {len(denying) - 1} more)" if len(denying) > 1 else ""
    return _element("failure", first.code, f"{first.message}{more}", *_lines(result, denying))


def _lines(result: Result, findings: Iterable[LocatedFinding]) -> Iterable[str]:
    for located in findings:
        yield f"{located.at(result.file)}: {located.severity.label} {located}"
        yield f"    remedy: {located.remedy}"


def _element(tag: str, kind: str, message: str, *lines: str) -> str:
    return f"<{tag} type={_attribute(kind)} message={_attribute(message)}>{_text(lines)}</{tag}>"


def _text(lines: Iterable[str]) -> str:
    """Return lines as the text of an element. Printable characters are legal in XML; a surrogate is not printable."""
    return "\n".join(escape(printable(line, LINE)) for line in lines)


def _attribute(text: str) -> str:
    return quoteattr(printable(text, LINE))
