"""An object names a GPU resource in a place that cannot be checked."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.checks.check import Check, Scope
from webhook.policy.verdict import Severity, Violation


def run(violations: Iterable[Violation]) -> Iterable[Violation]:
    """The violations that the search of the command line has found (`webhook/dryrun/search/evaluator.py`)."""
    return violations


CHECK = Check(
    "GPS023", Severity.WARN, Scope.OFFLINE, run, "An object names a GPU resource in a place that cannot be checked"
)
