"""The options `--baseline` and `--write-baseline`, and what they make of the findings of a run."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

import click

from webhook.cli.options import file_option, option_group
from webhook.cli.outputs import destinations
from webhook.cli.screen import tell
from webhook.report.model import Entry
from webhook.report.tally import Tally


class BaselineOptions(NamedTuple):
    """The baseline to read, and the one to write, of which one at most is given."""

    read: str | None
    write: str | None


class UsedBaseline(Protocol):
    """The part of a baseline in a run."""

    def suppress(self, entry: Entry) -> Entry:
        """Return the entry without the findings that the baseline holds."""

    def end(self, tally: Tally) -> None:
        """Add what became of the baseline to the tally. Raises InputError if it cannot be written."""


def _given(*, baseline: str | None, write_baseline: str | None) -> BaselineOptions:
    if baseline is not None and write_baseline is not None:
        raise click.UsageError("--write-baseline writes all findings; leave out --baseline")
    return BaselineOptions(baseline, write_baseline)


baseline_options = option_group(
    "baseline",
    _given,
    file_option("--baseline", help="Leave out the findings that a baseline holds."),
    file_option(
        "--write-baseline",
        help="Write all findings to a baseline, and report none. Not written if there are errors.",
    ),
)
"""Adds the options that name a baseline. The command gets them as `baseline`. Raises UsageError for both."""


def opened(options: BaselineOptions) -> UsedBaseline:
    """Return the baseline that the options name. Raises InputError if it cannot be read."""
    if options.write is not None:
        from webhook.dryrun.baseline import WrittenBaseline  # most runs have no baseline

        return WrittenBaseline(options.write, partial(_write, options.write), tell)
    if options.read is not None:
        from webhook.dryrun.baseline import ReadBaseline  # as above

        return ReadBaseline(options.read)
    return _NoBaseline()


class _NoBaseline:
    """Suppresses nothing."""

    def suppress(self, entry: Entry) -> Entry:
        return entry

    def end(self, tally: Tally) -> None:
        pass


def _write(file: str, text: str) -> None:
    """Write a file as a whole. Raises InputError."""
    with destinations([file]) as (write,):
        write(text)
