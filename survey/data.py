"""The survey as one JSON object, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from survey.counts import Survey
from webhook.report.data import json_text


def write(survey: Survey) -> str:
    """Return the whole survey, indented."""
    return json_text(
        {
            "repositories": [
                {
                    "repository": name,
                    **asdict(one.objects),
                    "errors": one.errors,
                    "assumed": one.assumed,
                    "failure": one.failure,
                }
                for name, one in survey.repositories.items()
            ],
            "kinds": _rows(survey.kinds, "group", "kind"),
            "findings": _rows(survey.findings, "code", "severity"),
            "reasons": _rows(survey.reasons, "decision", "reason"),
            "unchecked": _rows(survey.unchecked, "group", "kind", "named", "reason"),
            "errors": _rows({(message,): one for message, one in survey.errors.items()}, "message"),
        }
    )


def _rows(counted: dict[Any, Any], *names: str) -> list[dict[str, Any]]:
    """A row for each key: the parts of the key by their names, and the counts."""
    return [{**dict(zip(names, key, strict=True)), **asdict(one)} for key, one in sorted(counted.items())]
