"""A report as workflow commands of GitHub Actions, which become annotations at the lines of a pull request.

The syntax and its escapes are those of the runner (actions/runner, src/Runner.Common/ActionCommand.cs).
"""

from __future__ import annotations

from webhook.diagnostics import LINE, Diagnostic, Unread
from webhook.policy.messages import printable
from webhook.policy.verdict import Severity
from webhook.report.model import Entry, Result
from webhook.report.tally import Tally, summary
from webhook.report.writer import Page

_COMMANDS = {Severity.DENY: "error", Severity.WARN: "warning", Severity.AUDIT: "notice"}
_SHOWN = 10
"""Annotations of each type that GitHub shows for a step."""

_TITLE = "gpushare-webhook"


class GithubWriter:
    """Writes an annotation for each finding, error and reason to fail, and notices with facts and the summary."""

    def __init__(self, page: Page) -> None:
        self._tree = page.tree
        self._counts_unread = page.fail_on.counts_unread
        self._written = dict.fromkeys(_COMMANDS.values(), 0)

    def add(self, entry: Entry) -> str:
        file = self._tree.relative(entry.file)
        match entry:
            case Result():
                return "".join(
                    self._command(
                        _COMMANDS[finding.severity],
                        {
                            "file": self._tree.relative(finding.file or entry.file),
                            "line": finding.line,
                            "col": finding.column,
                        },
                        finding.code,
                        f"{finding.message} ({entry.subject}); {finding.remedy}",
                    )
                    for finding in entry.told.findings
                )
            case Diagnostic():
                place = {"line": entry.line, "col": entry.column} if entry.line else {}
                return self._command("error", {"file": file, **place}, "cannot be read", entry.message)
            case Unread(may_hide=True) if self._counts_unread:
                instead = f"; check it with: {entry.instead}" if entry.instead else ""
                why = f" ({entry.why})" if entry.why else ""
                return self._command("error", {"file": file}, "not read", f"{entry.reason}{why}{instead}")
            case _:
                return ""

    def end(self, tally: Tally) -> str:
        """Return what is read as facts, and the summary. It says so if GitHub leaves out annotations."""
        said = "".join(self._command("notice", {}, _TITLE, line) for line in tally.evidence.lines())
        unread = f"; {tally.unread}" if tally.unread else ""
        cut = [name for name, count in self._written.items() if count > _SHOWN]
        shown = " and ".join(f"the first {_SHOWN} {name}s" for name in cut)
        hint = f"; GitHub shows {shown} of a step" if cut else ""
        return said + self._command("notice", {}, _TITLE, f"{summary(tally)}{unread}{hint}")

    def _command(self, name: str, place: dict[str, object], title: str, message: str) -> str:
        self._written[name] += 1
        properties = {**place, "title": title}
        values = {key: _data(printable(value, LINE)) for key, value in properties.items()}
        written = ",".join(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}" for key, value in values.items())
        return f"::{name} {written}::{_data(printable(message, LINE))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
