"""A report as one YAML object with the data of the JSON report. The summary follows the results."""

from __future__ import annotations

from webhook.report.data import yaml_text
from webhook.report.model import Entry, Result
from webhook.report.record import HEAD, Rest, record
from webhook.report.tally import Tally


class YamlWriter:
    """Writes the report in block style."""

    def __init__(self) -> None:
        self._before = f"{yaml_text(HEAD)}results:\n"
        self._has_results = False
        self._rest = Rest()

    def add(self, entry: Entry) -> str:
        """Return the text for a result. Errors and unread files follow at the end."""
        if not isinstance(entry, Result):
            self._rest.add(entry)
            return ""
        before, self._before, self._has_results = self._before, "", True
        return before + yaml_text([record(entry)])

    def end(self, tally: Tally) -> str:
        """Return the errors, the unread files and the summary."""
        head = "" if self._has_results else f"{yaml_text({**HEAD, 'results': []})}"
        return head + yaml_text(self._rest.data(tally))
