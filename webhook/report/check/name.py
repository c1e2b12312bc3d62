"""The names of the objects with which the run fails, one on each line, as `kubectl get -o name` writes them."""

from __future__ import annotations

import re

from webhook.policy.workloads.kinds import group_of
from webhook.report.model import Entry, Result
from webhook.report.tally import FailOn, Tally

_NOT_IN_KIND = re.compile(r"[^a-z0-9]")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9.:_-]")
"""Characters that no kind and no name in the cluster has. As `?` they split no word and begin no option for `xargs`."""

_LONGEST = 253


class NameWriter:
    """Writes `kind.group/name` for each object that is denied, or whose decision fails the run."""

    def __init__(self, fail_on: FailOn = FailOn.DENY) -> None:
        self._decisions = {"denied", *fail_on.failing}

    def add(self, entry: Entry) -> str:
        return f"{_name(entry)}\n" if isinstance(entry, Result) and entry.decision in self._decisions else ""

    def end(self, tally: Tally) -> str:  # noqa: ARG002 - the signature of a Writer
        return ""


def _name(result: Result) -> str:
    subject = result.subject
    kind = _NOT_IN_KIND.sub("?", subject.kind.lower()[:_LONGEST])
    group = _NOT_IN_NAME.sub("?", group_of(subject.api_version)[:_LONGEST])
    name = _NOT_IN_NAME.sub("?", subject.name[:_LONGEST])
    return f"{kind}{f'.{group}' if group else ''}/{name}"
