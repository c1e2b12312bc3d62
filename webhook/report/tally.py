"""What a run adds up to: the counts of its summary, and its exit code. Memory does not grow with the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Any

from webhook.diagnostics import Diagnostic, Unread, tallied
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Scope
from webhook.policy.verdict import DECISIONS as DECISION_OF
from webhook.policy.verdict import Severity
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted
from webhook.report.model import (
    DECISIONS,
    EVERYTHING,
    NO_EVIDENCE,
    SKIPPED,
    Entry,
    Evidence,
    Result,
    Selection,
    Suppressor,
    filled,
)


class FailOn(Enum):
    """The least severe decision with which a run fails. The value is the word that `--fail-on` takes."""

    DENY = "deny"
    WARN = "warn"
    UNREAD = "unread"
    SKIPPED = "skipped"
    NEVER = "never"

    @property
    def failing(self) -> tuple[str, ...]:
        """The decisions about an object with which the run fails."""
        return _FAILING[self]

    @property
    def counts_unread(self) -> bool:
        """Whether the run fails for what may hold an object and is not read."""
        return self in (FailOn.UNREAD, FailOn.SKIPPED)

    def shows(self, severity: Severity) -> bool:
        """Return whether a finding of the severity denies its object or fails the run."""
        return severity is Severity.DENY or DECISION_OF[severity].label in self.failing


_FAILING = {
    FailOn.DENY: ("denied",),
    FailOn.WARN: ("denied", "warned"),
    FailOn.UNREAD: ("denied", "warned"),
    FailOn.SKIPPED: ("denied", "warned", SKIPPED),
    FailOn.NEVER: (),
}


class Tally:
    """Counts the entries of a run.

    `settings` names the settings file if there is one, `selection` the checks that the run makes. `codes` counts the
    findings by code and severity, `skipped` the objects by the reason why they are skipped, `unread` the files and
    folders that are not read, `suppressed` the findings that the report leaves out by what suppresses them.
    `assumes_sharing`: nothing says how GPUs are shared, so that the run assumes MPS. `evidence` is what the inputs show
    of the cluster.
    """

    def __init__(
        self,
        settings: str = "",
        selection: Selection = EVERYTHING,
        *,
        assumes_sharing: bool = False,
        evidence: Evidence = NO_EVIDENCE,
    ) -> None:
        self.settings = settings
        self.selection = selection
        self.evidence = evidence
        self._assumes_sharing = assumes_sharing
        self._omitted: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self.decisions = dict.fromkeys(DECISIONS, 0)
        self.errors = 0
        self.codes: Counter[tuple[str, str]] = Counter()
        self.skipped: Counter[str] = Counter()
        self.unread = LeftUnread()
        self.suppressed: Counter[Suppressor] = Counter()
        self.unchecked = 0

    def add(self, entry: Entry) -> None:
        if isinstance(entry, Diagnostic):
            self.errors += entry.errors
        elif isinstance(entry, Unread):
            self.unread.add(entry)
        else:
            entry = entry.told
            self.decisions[entry.decision] += 1
            if entry.decision == SKIPPED and entry.reason:
                self.skipped[entry.reason] += 1
            self.codes.update((finding.code, finding.severity.label) for finding in entry.findings)
            self._omitted.update(entry.omitted)
            self._left_out.update(entry.left_out)
            has_unchecked = any(finding.code == _UNCHECKED for finding in entry.findings)
            self.unchecked += has_unchecked and not is_of_another_kind(entry)
            for suppression in entry.suppressed:
                self.suppressed[suppression.by] += suppression.count

    @property
    def objects(self) -> int:
        return sum(self.decisions.values())

    @property
    def assumed(self) -> int:
        """How many findings depend on the assumption that nodes share GPUs through MPS; 0 where nothing is assumed."""
        if not self._assumes_sharing:
            return 0
        counts = (*((code, count) for (code, _), count in self.codes.items()), *self._omitted.items())
        return sum(count for code, count in counts if code in _ABOUT_SHARING)

    @property
    def left_out(self) -> Counter[str]:
        """The violations by code that are left out, because nothing shows that nodes share GPUs through MPS."""
        return self._left_out if self._assumes_sharing else Counter()

    def summary(self) -> dict[str, Any]:
        unread = self.unread.data() if self.unread else {}
        return {"objects": self.objects, **self.decisions, "errors": self.errors, **filled(unread=unread)}

    def exit_code(self, fail_on: FailOn) -> ExitCode:
        """The exit code of the run: wrong input comes before denials."""
        if self.errors:
            return ExitCode.WRONG_INPUT
        fails = any(self.decisions[one] for one in fail_on.failing) or (fail_on.counts_unread and self.unread.hiding)
        return ExitCode.DENIED if fails else ExitCode.OK


_SHARING = (Scope.MPS, Scope.SHOWN_MPS, Scope.SHARED)
_ABOUT_SHARING = frozenset(check.code for check in CHECKS if check.scope in _SHARING) - {"GPS024"}
"""The checks that report nothing where nodes share no GPUs. GPS024 assumes nothing: it knows how they share them."""

_UNCHECKED = "GPS023"
"""The check that reports GPU resources which nothing checks."""


class LeftUnread:
    """Counts unread files and folders by reason. `hiding` is the number of those that may hold an object."""

    def __init__(self) -> None:
        self._files: Counter[str] = Counter()
        self._folders: Counter[str] = Counter()
        self.hiding = 0

    def add(self, entry: Unread) -> None:
        counts = self._folders if entry.file.endswith("/") else self._files
        counts[entry.reason] += 1
        self.hiding += entry.may_hide

    def __bool__(self) -> bool:
        return bool(self._files or self._folders)

    def data(self) -> dict[str, Any]:
        return {"files": self._files.total(), "folders": self._folders.total(), "reasons": dict(self._reasons())}

    def __str__(self) -> str:
        return f"{_things(self._files.total(), self._folders.total())} not read ({tallied(self._reasons())})"

    def lines(self) -> list[str]:
        """Return a line for each reason, the most frequent first."""
        return [f"{_things(self._files[one], self._folders[one])} not read: {one}" for one, _ in self._reasons()]

    def _reasons(self) -> list[tuple[str, int]]:
        return (self._files + self._folders).most_common()


def _things(files: int, folders: int) -> str:
    numbers = ((files, "file"), (folders, "folder"))
    return " and ".join(counted(number, thing) for number, thing in numbers if number)


def summary(tally: Tally) -> str:
    """Return the numbers of objects by decision and of unread inputs."""
    said = tallied(tally.decisions.items())
    end = f"; {counted(tally.errors, 'error')}" if tally.errors else ""
    return f"{counted(tally.objects, 'object')}: {said or 'nothing to check'}{end}"


ASSUMED = "nodes share GPUs through MPS"
"""The assumption about a cluster that nothing describes."""


def assumption(tally: Tally) -> str:
    """Return what the run assumes, and how to name the cluster; empty where nothing depends on it."""
    said = []
    if tally.assumed:
        depends = "1 finding depends" if tally.assumed == 1 else f"{tally.assumed} findings depend"
        said.append(f"assumed: {ASSUMED}. {depends} on it")
    if tally.left_out:
        codes = ", ".join(f"{code} {count}" for code, count in sorted(tally.left_out.items()))
        number = counted(tally.left_out.total(), "warning")
        said.append(f"left out: {number} for MPS, which nothing shows here ({codes})")
    if not said:
        return ""
    name = "Name the cluster by --context, --facts, --profile (whole-cards if it shares no GPUs) or .gpushare.yaml"
    return ". ".join((*said, name)) + "".join(f"; {proposal}" for proposal in tally.evidence.proposals)


def is_of_another_kind(result: Result) -> bool:
    """Return whether a finding says that the kind is misspelt, so that the report need not say so again."""
    return any(finding.code == _UNCHECKED and finding.path == _KIND for finding in result.findings)


_KIND = ("kind",)


def further(result: Result) -> Iterator[str]:
    """Yield a text for each code with findings of an object that are not listed."""
    for code, count in result.omitted.items():
        yield f"and {counted(count, 'more finding')} of {code}"
