"""A report as one YAML object with the data of the JSON report. The summary follows the results."""

from __future__ import annotations

from webhook.report.data import yaml_text
from webhook.report.model import Entry, Result
from webhook.report.record import HEAD, Rest, record
from webhook.report.tally import Tally


class YamlWriter:
    """Writes the results in block style, then the errors, the unread files and the summary."""

    def __init__(self) -> None:
        self._before = f"{yaml_text(HEAD)}results:\n"
        self._rest = Rest()

    def add(self, entry: Entry) -> str:
        if not isinstance(entry, Result):
            self._rest.add(entry)
            return ""
        before, self._before = self._before, ""
        return before + yaml_text([record(entry)])

    def end(self, tally: Tally) -> str:
        head = yaml_text({**HEAD, "results": []}) if self._before else ""
        return head + yaml_text(self._rest.data(tally))
