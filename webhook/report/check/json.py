"""A report as one JSON object, for machines. The summary follows the results, so that no results are kept."""

from __future__ import annotations

from textwrap import indent

from webhook.report.data import json_text
from webhook.report.model import Entry, Result
from webhook.report.record import HEAD, Rest, record
from webhook.report.tally import Tally

_HEAD = json_text({**HEAD, "results": []}).rstrip("]}\n")


class JsonWriter:
    """Writes the report, indented."""

    def __init__(self) -> None:
        self._before = f"{_HEAD}\n"
        self._rest = Rest()

    def add(self, entry: Entry) -> str:
        """Return the text for a result. Errors and unread files follow at the end."""
        if not isinstance(entry, Result):
            self._rest.add(entry)
            return ""
        text = self._before + indent(json_text(record(entry)).rstrip("\n"), "    ")
        self._before = ",\n"
        return text

    def end(self, tally: Tally) -> str:
        """Return the errors, the unread files and the summary."""
        head = f"{_HEAD}]" if self._before != ",\n" else "\n  ]"
        return f"{head},\n{json_text(self._rest.data(tally)).removeprefix('{' + chr(10))}"
