"""Where a report appears: what its format knows about the reader's side."""

from __future__ import annotations

from typing import NamedTuple

from webhook.report.paint import Paint, plain
from webhook.report.source_tree import ANYWHERE, SourceTree
from webhook.report.tally import FailOn


class Page(NamedTuple):
    """The colours and the columns of a terminal, the decisions with which the run fails, and the repository.

    `width` is None where lines are not wrapped, such as in a file. On a quiet page, text for people is limited to the
    findings with which the run fails.
    """

    paint: Paint = plain
    width: int | None = None
    fail_on: FailOn = FailOn.DENY
    is_quiet: bool = False
    tree: SourceTree = ANYWHERE


PLAIN = Page()
"""A page without colours and without an edge."""
