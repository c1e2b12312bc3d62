"""The formats of `check -o`: the registry here, and one module for each."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import assert_never

from webhook.report.check import json, text
from webhook.report.model import Report
from webhook.report.paint import Paint


class CheckFormat(Enum):
    """A format of `check`. The value is the word that `-o` takes and the name of the module."""

    TEXT = "text"
    JSON = "json"

    def to_format(self, paint: Paint) -> Callable[[Report], str]:
        """Return the function that writes a report in this format."""
        match self:
            case CheckFormat.TEXT:
                return partial(text.write, paint=paint)
            case CheckFormat.JSON:
                return json.write
            case _:
                assert_never(self)
