"""The formats of `check -o`: the registry here, and one module for each."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from webhook.report.check.json import JsonWriter
from webhook.report.check.text import TextWriter
from webhook.report.paint import Paint
from webhook.report.writer import Writer


class CheckFormat(Enum):
    """A format of `check`. The value is the word that `-o` takes and the name of the module."""

    TEXT = "text"
    JSON = "json"

    @property
    def is_for_people(self) -> bool:
        """Whether the text appears line by line; data appears as a whole at the end."""
        return self is CheckFormat.TEXT

    def writer(self, paint: Paint) -> Writer:
        """Return a writer of this format."""
        match self:
            case CheckFormat.TEXT:
                return TextWriter(paint)
            case CheckFormat.JSON:
                return JsonWriter()
            case _:
                assert_never(self)
