"""The summary of a run in one line, for people."""

from __future__ import annotations

from webhook.report.counted import counted
from webhook.report.tally import Tally


def summary(tally: Tally) -> str:
    """Return the numbers of objects by decision and of unread inputs, and what a running webhook answered."""
    said = ", ".join(f"{count} {decision}" for decision, count in tally.decisions.items() if count)
    problem = "could not be checked" if tally.server else "could not be read"
    end = f"; {counted(tally.errors, 'input')} {problem}" if tally.errors else ""
    server = f"; {_server(tally)}" if tally.server else ""
    return f"{counted(tally.objects, 'object')}: {said or 'nothing to check'}{end}{server}"


def _server(tally: Tally) -> str:
    """How many objects a running webhook answered, and how many differences from the local run there are."""
    if not tally.sent:
        return f"none answered by {tally.server}"
    differences = counted(tally.differences, "difference") if tally.differences else "no difference"
    return f"{tally.sent} answered by {tally.server}, {differences} from the local run"
