"""The results of a check of manifests, and what its inputs show of a cluster, before they are written in a format.

Fields hold text of manifests unchanged, for formats of data. `str` sanitises it, for formats that people read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from webhook.diagnostics import LINE, Diagnostic, Unread
from webhook.manifests.manifest import Comment
from webhook.manifests.text import Excerpt, Position
from webhook.patch import pointer
from webhook.policy.messages import printable
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import DECISIONS as POLICY_DECISIONS
from webhook.policy.verdict import Decision, Finding

if TYPE_CHECKING:
    from webhook.policy.settings.formats import SeverityName


def filled(**members: Any) -> dict[str, Any]:
    """Return the members of a mapping that are not empty."""
    return {key: value for key, value in members.items() if value}


class Subject(NamedTuple):
    """The object of a result. `namespace` and `name` are empty when absent."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind, namespace, name = map(printable, (self.kind, self.namespace, self.name))
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".rstrip()

    def as_data(self) -> dict[str, str]:
        return {"apiVersion": self.api_version, "kind": self.kind, "namespace": self.namespace, "name": self.name}


NO_EXCERPT = Excerpt("", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedFinding(Finding):
    """A finding with its position in the file, counted from 1, and the line that holds the value.

    `length` is the number of characters of the value in this line, 0 if the value is not a scalar of one line.
    `value` is the value as text, by which `webhook.report.fingerprint` compares findings; empty for a mapping or list.
    `key` is the position and the line of the key above a mapping or list that begins on a line of its own: the first
    line of the value is about another field than the finding, which may miss one. None for other values. `also_in`: in
    how many further overlays it is. `is_repeated`: the result of an earlier overlay has it, and formats for people list
    it there.
    """

    line: int
    column: int
    excerpt: Excerpt = NO_EXCERPT
    length: int = 0
    value: str = ""
    key: tuple[Position, Excerpt] | None = None
    file: str = ""
    also_in: int = 0
    is_repeated: bool = False

    @property
    def pointer(self) -> str:
        return pointer(self.path)

    def __str__(self) -> str:
        more = f" (also in {self.also_in} other overlay{'s' * (self.also_in > 1)})" if self.also_in else ""
        return printable(f"{self.code} {self.message}{more}", LINE)

    def at(self, file: str) -> str:
        """Return the position as compilers write it, in the file of the finding or of its result."""
        return printable(f"{self.file or file}:{self.line}:{self.column}", LINE)


class Suppressor(Enum):
    """What suppresses a finding. The value is the word that reports use."""

    COMMENT = "comment"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Suppression:
    """A finding that the report leaves out, or the number of those of a code. `reason` is that of a comment."""

    code: str
    by: Suppressor
    finding: LocatedFinding | None
    count: int = 1
    reason: str = ""


_NOTHING: Mapping[str, Any] = {}
_REPEATED = "with findings that are listed for another overlay"


class Result(NamedTuple):  # as a frozen dataclass, it takes eight times as long to create
    """The result for one object.

    `patch` is the patch of the mutating hook for a pod that is not denied. `omitted` counts, by code, the findings that
    are not listed. `reason` says why the object is exempt or skipped, or why its pods get their nodes later. `source`
    is the file that a renderer names as the origin of the object. `users` are the users with which the object uses MPS,
    as far as they are to be compared with those of other objects, as findings without a message yet. The decision
    leaves out what is `suppressed`. `notes` are remarks about suppression, such as that a comment has no effect.
    `comments` are those of the object that ignore findings. `left_out` counts, by code, what would be findings if
    anything showed that nodes share GPUs through MPS.
    """

    file: str
    document: int
    line: int
    subject: Subject
    decision: str
    findings: tuple[LocatedFinding, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    omitted: Mapping[str, int] = _NOTHING
    reason: str = ""
    source: str = ""
    users: tuple[LocatedFinding, ...] = ()
    suppressed: tuple[Suppression, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    comments: tuple[Comment, ...] = ()
    left_out: Mapping[str, int] = _NOTHING

    @property
    def told(self) -> Result:
        """The result without findings that are repeated, and with the reason if none is left."""
        findings = tuple([one for one in self.findings if not one.is_repeated])
        if len(findings) == len(self.findings):
            return self
        return self._replace(findings=findings, reason=self.reason or ("" if findings else _REPEATED))

    def without(self, suppressed: Sequence[Suppression]) -> Result:
        """Return the result without some of its findings.

        The decision follows from those that remain. Of a code, the findings that are not listed are no more severe than
        the others.
        """
        if not suppressed:
            return self
        left_out = {id(suppression.finding) for suppression in suppressed}
        omitted = dict(self.omitted)
        for suppression in suppressed:
            if suppression.finding is None:
                omitted[suppression.code] -= suppression.count
        omitted = {code: count for code, count in omitted.items() if count}
        findings = tuple([finding for finding in self.findings if id(finding) not in left_out])
        suppressed = (*self.suppressed, *suppressed)
        found = [*findings, *(one.finding for one in suppressed if one.finding is not None)]
        severities = [finding.severity for finding in findings]
        severities += [min(one.severity for one in found if one.code == code) for code in omitted]
        decision = max((POLICY_DECISIONS[severity] for severity in severities), default=Decision.ALLOWED)
        return self._replace(
            decision=decision.label,
            findings=findings,
            omitted=omitted,
            suppressed=suppressed,
        )


Entry: TypeAlias = "Result | Diagnostic | Unread"
"""What a run reports, in the order of the inputs: the result for an object, an error, or a file that is not read."""

SKIPPED = "skipped"
"""The decision about an object of which nothing is checked."""

DECISIONS = ("allowed", "warned", "denied", SKIPPED)


class Selection(NamedTuple):
    """The codes of the checks that options leave out, and of those that remain. Without `options`, all remain."""

    left_out: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def apply(self, settings: Settings) -> Settings:
        """Return the settings with the checks that are left out switched off in every namespace."""
        off: Mapping[str, SeverityName] = dict.fromkeys(self.left_out, "off")
        rules = tuple(replace(rule, severities={**rule.severities, **off}) for rule in settings.namespaces)
        return replace(settings, severities={**settings.severities, **off}, namespaces=rules)

    def __str__(self) -> str:
        if "--select" in self.options:
            return f"only {', '.join(self.remaining)} checked ({', '.join(self.options)})"
        return f"{', '.join(self.left_out)} not checked ({', '.join(self.options)})" if self.options else ""


EVERYTHING = Selection()
"""All checks."""


MOST_PLACES = 3
"""Places that are kept of the objects of a part."""


class Place(NamedTuple):
    """Where an object begins."""

    file: str
    line: int

    def __str__(self) -> str:
        return printable(f"{self.file}:{self.line}", LINE)


class Read(NamedTuple):
    """A part of the facts that is read. `part` is its key in the facts file, `says` what it says, in words.

    `places` are those of the first objects, `objects` is the number of all.
    """

    part: str
    says: str
    places: tuple[Place, ...]
    objects: int

    def __str__(self) -> str:
        first, further = self.places[0], self.objects - 1
        return f"{self.says} ({first}{f' and {further} more' if further else ''})"

    def as_data(self) -> dict[str, Any]:
        places = [place._asdict() for place in self.places]
        return {"part": self.part, "says": self.says, "objects": self.objects, "places": places}


class Refused(NamedTuple):
    """A part of the facts that is not read although inputs hold it, and why. `part` is empty for all parts."""

    part: str
    why: str
    places: tuple[Place, ...] = ()

    def __str__(self) -> str:
        places = f" ({' and '.join(map(str, self.places))})" if self.places else ""
        return f"{self.part or 'all'}: {self.why}{places}"

    def as_data(self) -> dict[str, Any]:
        places = [place._asdict() for place in self.places]
        return {**filled(part=self.part), "reason": self.why, "places": places}


class Proposal(NamedTuple):
    """A profile that may describe the cluster, and the marker in the inputs that shows it."""

    profile: str
    marker: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place} {self.marker}: use --profile {self.profile}"

    def as_data(self) -> dict[str, Any]:
        return {"profile": self.profile, **self.place._asdict()}


class Evidence(NamedTuple):
    """What the inputs of a run show of a cluster, for its report."""

    read: tuple[Read, ...] = ()
    refused: tuple[Refused, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield a line with what is read as facts, and one for each part that is not."""
        if self.read:
            yield f"facts from inputs: {'; '.join(map(str, self.read))}"
        for refusal in self.refused:
            yield f"not read as facts: {refusal}"

    def as_data(self) -> dict[str, Any]:
        """What is read and refused; empty without both."""
        return filled(
            read=[part.as_data() for part in self.read], refused=[refusal.as_data() for refusal in self.refused]
        )


NO_EVIDENCE = Evidence()
