"""The summary of a run in one line, for people."""

from __future__ import annotations

from webhook.report.tally import Tally


def summary(tally: Tally) -> str:
    """Return the number of objects, of those with each decision, and of inputs that could not be read."""
    said = ", ".join(f"{count} {decision}" for decision, count in tally.decisions.items() if count)
    end = f"; {counted(tally.errors, 'input')} could not be read" if tally.errors else ""
    return f"{counted(tally.objects, 'object')}: {said or 'nothing to check'}{end}"


def counted(number: int, thing: str) -> str:
    """Return a number and what it counts."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
