"""The checks as rules of SARIF: what viewers show beside a finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.printable import shorten
from webhook.policy.verdict import Severity

LEVELS: Mapping[Severity, str] = {
    Severity.DENY: "error",
    Severity.WARN: "warning",
    Severity.AUDIT: "note",
    Severity.OFF: "none",
}

INDEX: Mapping[str, int] = {check.code: index for index, check in enumerate(CHECKS)}
"""The position of each rule in `rules`, by code."""

_PART = re.compile(r"^(\w+):", re.MULTILINE)
_WHY = re.compile(r"^Why: (.*?)(?=^\w+:|\Z)", re.MULTILINE | re.DOTALL)
_LONGEST = 1024
"""Characters of a full description that GitHub shows."""


def rules() -> list[dict[str, Any]]:
    """Return the rules in the order of their codes."""
    return [_rule(check) for check in CHECKS]


def _rule(check: Check[Any]) -> dict[str, Any]:
    text = check.description.strip()
    why = _WHY.search(text)
    full = f"{check.title}." if why is None else f"{check.title}: {' '.join(why[1].split())}"
    return {
        "id": check.code,
        "shortDescription": {"text": f"{check.title}."},
        "fullDescription": {"text": shorten(full, _LONGEST)},
        "help": {"text": text, "markdown": _PART.sub(r"\n**\1:**", text)},
        "defaultConfiguration": {"level": LEVELS[check.severity]},
        "properties": {"tags": ["kubernetes", "gpu"]},
    }
