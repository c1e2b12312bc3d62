"""What the text report says about findings that it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from webhook.policy.printable import printable
from webhook.report.model import Suppressor
from webhook.report.tally import Tally

if TYPE_CHECKING:
    from webhook.report.baseline import BaselineUse

_MOST_STALE = 10
"""Entries of a baseline that are named."""


def suppressed_lines(tally: Tally) -> Iterator[str]:
    """Yield a line for each way in which findings are left out, and for each entry of a baseline to remove."""
    if count := tally.suppressed_by(Suppressor.ANNOTATION):
        yield f"{_findings(count)} suppressed by annotations of pods, here and in the cluster"
    if count := tally.suppressed_by(Suppressor.COMMENT):
        yield f"{_findings(count)} suppressed by comments, which the cluster does not read"
    if tally.baseline is not None:
        yield from _of_baseline(tally.baseline, tally.suppressed_by(Suppressor.BASELINE))
    if tally.selection.options:
        yield str(tally.selection)


def _of_baseline(baseline: BaselineUse, count: int) -> Iterator[str]:
    file, stale = printable(baseline.file), baseline.stale
    if baseline.is_written:
        yield f"{_findings(count)} written to {file}, which the cluster does not read"
    elif count:
        yield f"{_findings(count)} suppressed by {file}, which the cluster does not read"
    if stale:
        entries = "1 entry" if len(stale) == 1 else f"{len(stale)} entries"
        yield f"{entries} of {file} no longer occur{'s' if len(stale) == 1 else ''}; write the baseline again:"
        yield from (f"    {one}" for one in stale[:_MOST_STALE])
        if len(stale) > _MOST_STALE:
            yield f"    and {len(stale) - _MOST_STALE} more"


def _findings(count: int) -> str:
    return "1 finding" if count == 1 else f"{count} findings"
