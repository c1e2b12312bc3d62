"""The checks as rules of SARIF: what viewers show beside a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.description import parts
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

_LONGEST = 1024
"""Characters of a full description that GitHub shows."""


def rules() -> list[dict[str, Any]]:
    """Return the rules in the order of their codes."""
    return [_rule(check) for check in CHECKS]


def _rule(check: Check[Any]) -> dict[str, Any]:
    described = parts(check.description)
    full = " ".join([f"{check.title}.", *described.get("Why", ())])
    return {
        "id": check.code,
        "shortDescription": {"text": f"{check.title}."},
        "fullDescription": {"text": shorten(full, _LONGEST)},
        "help": {"text": _help(described, "{}: "), "markdown": _help(described, "**{}:** ")},
        "defaultConfiguration": {"level": LEVELS[check.severity]},
        "properties": {"tags": ["kubernetes", "gpu"]},
    }


def _help(described: Mapping[str, Sequence[str]], heading: str) -> str:
    """Return the parts of a description, each after its name."""
    return "\n\n".join(heading.format(name) + "\n\n".join(texts) for name, texts in described.items())
