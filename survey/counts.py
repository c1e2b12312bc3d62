"""What the reports of many repositories add up to. Memory is bounded by kinds, codes and messages, not by objects."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, field
from random import Random
from typing import NamedTuple

from survey.checked import Error, Report, Result
from survey.mentions import How, Mention, Named


@dataclass(slots=True)
class Tally:
    """A number of things, and a sample of them in which each is equally likely (reservoir sampling)."""

    count: int = 0
    sample: list[str] = field(default_factory=list)

    def add(self, text: str, most: int, chance: Random) -> None:
        """Count one thing, and keep its text in the sample of at most `most`."""
        self.count += 1
        if len(self.sample) < most:
            self.sample.append(text)
        elif (place := chance.randrange(self.count)) < most:
            self.sample[place] = text


@dataclass(slots=True)
class Findings(Tally):
    """Findings of one code and severity, and the number of objects that have one."""

    objects: int = 0


@dataclass(slots=True)
class Errors:
    """Errors of one class, in all files and in those that hold the name of a GPU resource."""

    all: Tally = field(default_factory=Tally)
    gpu: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class Objects:
    """Objects by decision. `gpu`: those that name a GPU resource; `silent`: those of them that are skipped silently."""

    objects: int = 0
    gpu: int = 0
    allowed: int = 0
    warned: int = 0
    denied: int = 0
    skipped: int = 0
    silent: int = 0

    def add(self, result: Result, *, gpu: bool, silent: bool) -> None:
        """Count the result for an object."""
        self.objects += 1
        self.gpu += gpu
        self.silent += silent
        match result.decision:
            case "allowed":
                self.allowed += 1
            case "warned":
                self.warned += 1
            case "denied":
                self.denied += 1
            case _:
                self.skipped += 1

    def __add__(self, other: Objects) -> Objects:
        """The sums of each count."""
        return Objects(*(left + right for left, right in zip(astuple(self), astuple(other), strict=True)))


@dataclass(slots=True)
class Checked:
    """A repository: its objects, errors and findings on the assumption of MPS, or why there is no report about it."""

    objects: Objects = field(default_factory=Objects)
    errors: int = 0
    assumed: int = 0
    failure: str = ""

    def __str__(self) -> str:
        return self.failure or f"objects: {self.objects.objects}, errors: {self.errors}"


class Unchecked(NamedTuple):
    """What skipped objects without a finding have in common: kind, how they name a GPU resource, and reason."""

    group: str
    kind: str
    how: How
    reason: str

    @property
    def is_silent(self) -> bool:
        """Whether they could ask for a GPU: no reason explains the name, and it is not a part of a longer text."""
        explained = self.reason.startswith("exempt: ") or self.reason.endswith(" and runs no pods")
        return self.how is not How.INSIDE_TEXT and not explained


def unchecked(result: Result, mention: Mention | None) -> Unchecked | None:
    """The key of an object that names a GPU resource and is skipped without a finding; None for any other."""
    if mention is None or result.decision != "skipped" or result.findings:
        return None
    return Unchecked(result.group, result.object.kind, mention.how, class_of(result.reason))


@dataclass(slots=True)
class Survey:
    """The counts of all repositories. `most` is the size of each sample, which is the same in every run.

    Keys: `kinds` by group and kind; `findings` by code and severity; `reasons` by decision and reason; `errors` by
    class.
    """

    most: int
    repositories: dict[str, Checked] = field(default_factory=dict)
    kinds: dict[tuple[str, str], Objects] = field(default_factory=dict)
    findings: dict[tuple[str, str], Findings] = field(default_factory=dict)
    reasons: dict[tuple[str, str], Tally] = field(default_factory=dict)
    unchecked: dict[Unchecked, Tally] = field(default_factory=dict)
    errors: dict[str, Errors] = field(default_factory=dict)
    chance: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - a sample needs no secrecy

    def fail(self, repository: str, reason: str) -> None:
        """Count a repository without a report."""
        self.repositories[repository] = Checked(failure=reason)

    def add(self, repository: str, report: Report, named: Named) -> None:
        """Count the report about a repository."""
        checked = self.repositories[repository] = Checked(errors=len(report.errors), assumed=report.assumed.findings)
        for result in report.results:
            self._add_object(result, checked.objects, named.objects.get(result.identity))
            self._add_findings(result)
        for error in report.errors:
            self._add_error(error, named)

    def _add_object(self, result: Result, objects: Objects, mention: Mention | None) -> None:
        gpu = mention is not None and mention.how is not How.INSIDE_TEXT
        skipped = unchecked(result, mention)
        for counted in (objects, self.kinds.setdefault((result.group, result.object.kind), Objects())):
            counted.add(result, gpu=gpu, silent=skipped is not None and skipped.is_silent)
        if skipped is not None:
            tally = self.unchecked.setdefault(skipped, Tally())
            tally.add(f"{result.place} at {mention}", self.most, self.chance)
        if result.reason:
            reason = self.reasons.setdefault((result.decision, class_of(result.reason)), Tally())
            reason.add(result.place, self.most, self.chance)

    def _add_findings(self, result: Result) -> None:
        seen: set[str] = set()
        for finding in result.findings:
            found = self.findings.setdefault((finding.code, finding.severity), Findings())
            found.add(f"{result.file}:{finding.line} {result.object}: {finding.message}", self.most, self.chance)
            if finding.code not in seen:
                seen.add(finding.code)
                found.objects += 1
                found.count += result.omitted.get(finding.code, 0)

    def _add_error(self, error: Error, named: Named) -> None:
        errors = self.errors.setdefault(class_of(error.message), Errors())
        for tally in (errors.all, errors.gpu) if error.file in named.files else (errors.all,):
            tally.add(f"{error.place}: {error.message}", self.most, self.chance)


def class_of(message: str) -> str:
    """A message without its quoted names and numbers, so that messages about the same thing are equal."""
    return re.sub(r"\b\d+\b", "N", re.sub(r'"[^"]*"', '"…"', message))
