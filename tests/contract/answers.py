"""What is said of an object: by a hook in its answer, and by `check -o json` in its report, in one form."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Said:
    """All that both tell. The paths of findings are in reports only."""

    allowed: bool
    refusals: list[str]
    warnings: list[str]
    severities: list[str]
    patch: list[dict[str, Any]]

    def without(self, code: str) -> Said:
        """The same without a code that warns."""
        warnings = [warning for warning in self.warnings if not warning.startswith(code)]
        severities = [severity for severity in self.severities if not severity.startswith(code)]
        return replace(self, warnings=warnings, severities=severities)


def by_hook(answer: Any) -> Said:
    """What a hook says."""
    response = answer["response"]
    message = response.get("status", {}).get("message", "")
    severities = response.get("auditAnnotations", {}).get("findings", "")
    return Said(
        response["allowed"],
        message.splitlines(),
        response.get("warnings", []),
        severities.split(",") if severities else [],
        json.loads(base64.b64decode(response.get("patch", base64.b64encode(b"[]")))),
    )


def by_check(report: Any) -> Said:
    """What the command line says of its only object."""
    (result,) = report["results"]
    found = result["findings"]
    return Said(
        result["decision"] != "denied",
        ["{code} {message}; {remedy}".format(**one) for one in found if one["severity"] == "deny"],
        ["{code} {message}".format(**one) for one in found if one["severity"] == "warn"],
        ["{code}={severity}".format(**one) for one in found],
        result["patch"],
    )
