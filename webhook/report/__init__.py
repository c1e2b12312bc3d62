"""Results for people and machines: one model, and one module for each format."""

from __future__ import annotations

from webhook.report.model import SKIPPED, Difference, Located, Report, Result, Subject

__all__ = ["SKIPPED", "Difference", "Located", "Report", "Result", "Subject"]
