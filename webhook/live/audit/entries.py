"""An audit as the entries of a check, for the formats that CI systems read.

A live object has no file. Its place, such as `team-a/Deployment/llm`, stands for the name of one.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.diagnostics import Diagnostic
from webhook.live.audit.census import Audited
from webhook.live.audit.report import Audit
from webhook.report.model import SKIPPED, Entry, Located, Result
from webhook.report.tally import Tally
from webhook.report.writer import Writer


def written(audit: Audit, writer: Writer) -> Iterator[str]:
    """Yield the text of an audit in a format of `check`."""
    tally = Tally()
    for row in audit.rows:
        entry = _entry(row)
        tally.add(entry)
        yield writer.add(entry)
    yield writer.end(tally)


def _entry(row: Audited) -> Entry:
    outcome = row.outcomes[0]
    if outcome.problem:
        return Diagnostic(row.where, 0, 0, f"cannot be checked: {outcome.problem}")
    is_exempt = outcome.reason.startswith("exempt") and not outcome.findings
    return Result(
        row.where,
        1,
        1,
        row.subject,
        SKIPPED if is_exempt else outcome.decision.label,
        tuple(Located(finding, 1, 1) for finding in outcome.findings),
        omitted=dict(outcome.omitted),
        reason=outcome.reason,
    )
