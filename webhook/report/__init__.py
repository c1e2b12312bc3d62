"""Results for people and machines: one model, and one module for each format."""

from __future__ import annotations

from webhook.report.model import (
    SKIPPED,
    Difference,
    Entry,
    Excerpt,
    Located,
    MpsUser,
    Result,
    Subject,
    Suppression,
    Suppressor,
)
from webhook.report.tally import FailOn, Tally

__all__ = [
    "SKIPPED",
    "Difference",
    "Entry",
    "Excerpt",
    "FailOn",
    "Located",
    "MpsUser",
    "Result",
    "Subject",
    "Suppression",
    "Suppressor",
    "Tally",
]
