"""Results for people and machines: one model, and one module for each format."""

from __future__ import annotations

from webhook.report.model import SKIPPED, Located, Report, Result, Subject

__all__ = ["SKIPPED", "Located", "Report", "Result", "Subject"]
