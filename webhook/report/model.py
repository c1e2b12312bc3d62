"""The results of a check of manifests, before they are written in a format.

Fields hold text of manifests unchanged, for formats of data. `str` sanitises it, for formats that people read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from webhook.diagnostics import LINE, Diagnostic, Unread
from webhook.manifests.comments import Comment
from webhook.patch import pointer
from webhook.policy.printable import printable
from webhook.policy.verdict import DECISIONS as POLICY_DECISIONS
from webhook.policy.verdict import Decision, Finding, Path, Severity


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
        """Return the object's identity with the keys that machine-readable formats use."""
        return {"apiVersion": self.api_version, "kind": self.kind, "namespace": self.namespace, "name": self.name}


class Difference(Enum):
    """How a running webhook and the local run differ about a finding. `word` stands in data, `note` in text."""

    ONLY_SERVER = "only-server", "only the server reports this"
    ONLY_LOCAL = "only-local", "the server does not report this"
    CHANGED = "changed", "the local run reports this differently"

    def __init__(self, word: str, note: str) -> None:
        self.word = word
        self.note = note


class Excerpt(NamedTuple):
    """A line of a file, or the part of a long line around a value. `column` is that of its first character, from 1."""

    text: str
    column: int


NO_EXCERPT = Excerpt("", 1)


class TextEdit(NamedTuple):
    """A part of a fix in the file: `text` replaces `length` characters of a line, and gives the field its `value`."""

    path: Path
    line: int
    column: int
    length: int
    text: str
    value: str | int


@dataclass(frozen=True, slots=True)
class Located:
    """A finding with its position in the file, counted from 1, and the line that holds the value.

    `length` is the number of characters of the value in this line, 0 if the value is not a scalar of one line.
    `value` is the value as text, by which `webhook.report.fingerprint` compares findings; empty for a mapping or list.
    `fix` holds the edits that resolve the finding; empty where people have to choose, or the text is not plain enough.
    `difference` is None unless a running webhook and the local run differ about the finding.
    """

    finding: Finding
    line: int
    column: int
    excerpt: Excerpt = NO_EXCERPT
    length: int = 0
    value: str = ""
    difference: Difference | None = None
    fix: tuple[TextEdit, ...] = ()

    @property
    def message(self) -> str:
        """The message of the finding, and how a running webhook and the local run differ about it."""
        note = "" if self.difference is None else f" ({self.difference.note})"
        return f"{self.finding.message}{note}"

    @property
    def pointer(self) -> str:
        """The JSON pointer that leads from the object to the value."""
        return pointer(self.finding.path)

    def __str__(self) -> str:
        return printable(f"{self.finding.code} {self.message}", LINE)

    def at(self, file: str) -> str:
        """Return the position in a file as compilers write it."""
        return printable(f"{file}:{self.line}:{self.column}", LINE)


class MpsUser(NamedTuple):
    """A user with which a container uses MPS, where the object sets it, and how severe it is to differ from others."""

    user: int
    severity: Severity
    path: Path
    line: int
    column: int
    excerpt: Excerpt
    length: int

    def located(self, code: str, message: str, remedy: str) -> Located:
        """Return a finding about the user."""
        finding = Finding(code, self.severity, self.path, message, remedy)
        return Located(finding, self.line, self.column, self.excerpt, self.length, str(self.user))


class Suppressor(Enum):
    """What suppresses a finding. The value is the word that reports use."""

    ANNOTATION = "annotation"
    COMMENT = "comment"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Suppression:
    """A finding that the report leaves out, or the findings of a code that are counted but not listed.

    `reason` is what the author of a comment gives as the reason.
    """

    code: str
    by: Suppressor
    located: Located | None
    count: int = 1
    reason: str = ""


_NOTHING: Mapping[str, Any] = {}


class Result(NamedTuple):  # as a frozen dataclass, it takes eight times as long to create and to unpickle
    """The result for one object.

    `patch` is the patch of the mutating hook for a pod that is not denied. `omitted` counts, by code, the findings that
    are not listed, and `omitted_severities` holds the highest severity among them. `reason` says why the object is
    exempt or skipped, or why its pods get their nodes later. `source` is the file that a renderer names as the origin
    of the object. `users` are the users with which the object uses MPS, as far as they are to be compared with those of
    other objects. The decision leaves out what is `suppressed`. `notes` are remarks about suppression, such as that
    a comment has no effect. `comments` are those of the object that ignore findings. `server` is the address of the
    running webhook that decided, empty if none did; `patch_differs`: its patch is not that of the local run.
    """

    file: str
    document: int
    line: int
    subject: Subject
    decision: str
    findings: tuple[Located, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    omitted: Mapping[str, int] = _NOTHING
    reason: str = ""
    source: str = ""
    users: tuple[MpsUser, ...] = ()
    omitted_severities: Mapping[str, Severity] = _NOTHING
    suppressed: tuple[Suppression, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    comments: tuple[Comment, ...] = ()
    server: str = ""
    patch_differs: bool = False

    @property
    def differences(self) -> int:
        """The number of differences between a running webhook and the local run."""
        return sum(one.difference is not None for one in self.findings) + self.patch_differs

    def without(self, suppressed: Sequence[Suppression]) -> Result:
        """Return the result without some of its findings. The decision follows from those that remain."""
        if not suppressed:
            return self
        left_out = {id(one.located) for one in suppressed}
        omitted = dict(self.omitted)
        for one in suppressed:
            if one.located is None:
                omitted[one.code] -= one.count
        left = self._with([one for one in self.findings if id(one) not in left_out], omitted)
        return left._replace(suppressed=(*self.suppressed, *suppressed))

    def only(self, includes: Callable[[str], bool]) -> Result:
        """Return the result with the findings of some codes only. The decision follows from them."""
        if all(includes(code) for code in (*self.omitted, *(one.finding.code for one in self.findings))):
            return self
        omitted = {code: count for code, count in self.omitted.items() if includes(code)}
        return self._with([one for one in self.findings if includes(one.finding.code)], omitted)

    def _with(self, findings: Sequence[Located], omitted: Mapping[str, int]) -> Result:
        """A running webhook does not tell how severe an omitted finding is: it counts as one that denies."""
        omitted = {code: count for code, count in omitted.items() if count}
        severities = [one.finding.severity for one in findings if one.difference is not Difference.ONLY_LOCAL]
        severities += [self.omitted_severities.get(code, Severity.DENY) for code in omitted]
        decision = max((POLICY_DECISIONS[one] for one in severities), default=Decision.ALLOWED)
        return self._replace(decision=decision.label, findings=tuple(findings), omitted=omitted)


Entry: TypeAlias = "Result | Diagnostic | Unread"
"""What a run reports, in the order of the inputs: the result for an object, an error, or a file that is not read."""

SKIPPED = "skipped"
"""The decision about an object of which nothing is checked."""

DECISIONS = ("allowed", "warned", "denied", SKIPPED)


def decision_with(decision: str, severity: Severity) -> str:
    """Return the decision about an object that gets another finding of a severity."""
    most = max(Decision[decision.upper()], POLICY_DECISIONS[severity])
    return most.label
