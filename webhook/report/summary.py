"""The summary of a run in one line, for people."""

from __future__ import annotations

from webhook.report.counted import counted
from webhook.report.tally import Tally


def summary(tally: Tally) -> str:
    """Return the numbers of objects by decision and of unread inputs."""
    said = ", ".join(f"{count} {decision}" for decision, count in tally.decisions.items() if count)
    end = f"; {counted(tally.errors, 'input')} could not be read" if tally.errors else ""
    return f"{counted(tally.objects, 'object')}: {said or 'nothing to check'}{end}"
