"""Hand-made reports for tests."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.diagnostics import Diagnostic
from webhook.policy.verdict import Severity
from webhook.report.check.json import JsonWriter
from webhook.report.check.text import TextWriter
from webhook.report.model import Entry, LocatedFinding, Result, Subject
from webhook.report.tally import Tally
from webhook.report.writer import Page, Writer

POD = Subject("v1", "Pod", "team-a", "train")
DENIAL = LocatedFinding("GPS001", Severity.DENY, ("spec",), "too many", "ask for 1", line=7, column=3)
WARNING = LocatedFinding("GPS005", Severity.WARN, (), "hides it", "leave it out", line=1, column=1)
NOTE = LocatedFinding("GPS011", Severity.AUDIT, ("spec",), "no grace", "give some", line=7, column=3)
UNREADABLE = Diagnostic("b.yaml", 3, 5, "not YAML")
MISSING = Diagnostic("c.yaml", 0, 0, "no such file or folder")
PLAIN = Page()


def result(decision: str, *findings: LocatedFinding, subject: Subject = POD) -> Result:
    """Return a result with a decision and findings."""
    return Result("a.yaml", 2, 5, subject, decision, findings)


def written(writer: Writer, entries: Iterable[Entry]) -> str:
    """Return the report about entries."""
    tally = Tally()
    pieces = []
    for entry in entries:
        tally.add(entry)
        pieces.append(writer.add(entry))
    return "".join([*pieces, writer.end(tally)])


def text_of(*parts: Entry, page: Page = PLAIN) -> str:
    """Return the text report about entries."""
    return written(TextWriter(page), parts)


def json_of(*parts: Entry) -> str:
    """Return the JSON report about entries."""
    return written(JsonWriter(), parts)


def tally(*parts: Entry) -> Tally:
    """Return what entries add up to."""
    counted = Tally()
    for part in parts:
        counted.add(part)
    return counted
