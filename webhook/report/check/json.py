"""A report as one JSON object, for machines. The summary follows the results, so that no results are kept."""

from __future__ import annotations

from webhook.report.data import JsonItems, json_text
from webhook.report.model import Entry, Result
from webhook.report.record import HEAD, Rest, record
from webhook.report.tally import Tally


class JsonWriter:
    """Writes the results, indented, then the errors, the unread files and the summary."""

    def __init__(self) -> None:
        self._results = JsonItems(json_text({**HEAD, "results": []}).rstrip("]}\n"), 4)
        self._rest = Rest()

    def add(self, entry: Entry) -> str:
        if isinstance(entry, Result):
            return self._results.add(record(entry))
        self._rest.add(entry)
        return ""

    def end(self, tally: Tally) -> str:
        return f"{self._results.end()},\n{json_text(self._rest.data(tally)).removeprefix('{' + chr(10))}"
