"""The verdict about an object in one form: from a hook's answer, and from the report of `check -o json`."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Answered:
    """What both contain. Only reports have the paths of findings."""

    allowed: bool
    denials: list[str]
    warnings: list[str]
    severities: list[str]
    patch: list[dict[str, Any]]

    def without(self, code: str) -> Answered:
        """The same without the warnings of a code."""
        warnings = [warning for warning in self.warnings if not warning.startswith(code)]
        severities = [severity for severity in self.severities if not severity.startswith(code)]
        return replace(self, warnings=warnings, severities=severities)

    def without_patch(self) -> Answered:
        """The same without the patch, which the final hook never sends."""
        return replace(self, patch=[])


def by_hook(answer: Any) -> Answered:
    """The verdict of a hook."""
    response = answer["response"]
    *denials, ending = response.get("status", {}).get("message", "").splitlines() or [""]
    assert ending == (f"gpushare-webhook explain {denials[0][:6]}" if denials else "")
    severities = response.get("auditAnnotations", {}).get("findings", "")
    return Answered(
        response["allowed"],
        denials,
        response.get("warnings", []),
        severities.split(",") if severities else [],
        json.loads(base64.b64decode(response.get("patch", base64.b64encode(b"[]")))),
    )


def by_check(report: Any) -> Answered:
    """The verdict of the command line about its only object, not about configurations that it holds."""
    result, *_ = report["results"]
    found = result["findings"]
    return Answered(
        result["decision"] != "denied",
        ["{code} {message}; {remedy}".format(**one) for one in found if one["severity"] == "deny"],
        ["{code} {message}".format(**one) for one in found if one["severity"] == "warn"],
        ["{code}={severity}".format(**one) for one in found],
        result["patch"],
    )
