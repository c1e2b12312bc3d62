"""Findings for people and machines: one model, one format a file."""

from __future__ import annotations

from webhook.report.model import Error, Located, Report, Result, Subject

__all__ = ["Error", "Located", "Report", "Result", "Subject"]
