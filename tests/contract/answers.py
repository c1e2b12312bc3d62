"""The verdict about an object in one form: from a hook's answer, and from the report of `check -o json`."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Answered:
    """What both contain. Only reports have the paths of findings."""

    allowed: bool
    denials: list[str]
    warnings: list[str]
    severities: list[str]
    suppressed: list[str]
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
    severities, suppressed = (response.get("auditAnnotations", {}).get(key, "") for key in ("findings", "suppressed"))
    return Answered(
        response["allowed"],
        denials,
        response.get("warnings", []),
        severities.split(",") if severities else [],
        suppressed.split(",") if suppressed else [],
        json.loads(base64.b64decode(response.get("patch", base64.b64encode(b"[]")))),
    )


def by_check(report: Any) -> Answered:
    """The verdict of the command line about its only object, not about configurations that it holds."""
    result, *_ = report["results"]
    found, suppressed = result["findings"], result.get("suppressed", [])
    return Answered(
        result["decision"] != "denied",
        ["{code} {message}; {remedy}".format(**one) for one in found if one["severity"] == "deny"],
        ["{code} {message}".format(**one) for one in found if one["severity"] == "warn"],
        ["{code}={severity}".format(**one) for one in found],
        [f"{code}={count}" for code, count in sorted(Counter(one["code"] for one in suppressed).items())],
        result["patch"],
    )
