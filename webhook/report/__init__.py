"""Findings for people and machines: one model, one format a file."""

from __future__ import annotations

from webhook.report.model import Located, Report, Result, Subject

__all__ = ["Located", "Report", "Result", "Subject"]
