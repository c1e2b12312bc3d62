"""The results of a check of manifests, before they are written in a format.

Fields hold text of manifests unchanged, for formats of data. `str` sanitises it, for formats that people read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from webhook.diagnostics import LINE, Diagnostic
from webhook.policy.printable import printable
from webhook.policy.verdict import Finding
from webhook.report.exit_codes import ExitCode


@dataclass(frozen=True, slots=True)
class Subject:
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
    CHANGED = "changed", "the local settings report this differently"

    def __init__(self, word: str, note: str) -> None:
        self.word = word
        self.note = note


@dataclass(frozen=True, slots=True)
class Located:
    """A finding with its position in the file, counted from 1, and its JSON pointer into the object.

    `difference` is None unless a running webhook and the local run differ. Formats show its note beside the message.
    """

    finding: Finding
    pointer: str
    line: int
    column: int
    difference: Difference | None = None

    def __str__(self) -> str:
        return printable(f"{self.finding.code} {self.finding.message}", LINE)

    def at(self, file: str) -> str:
        """Return the position in a file as compilers write it."""
        return printable(f"{file}:{self.line}:{self.column}", LINE)


@dataclass(frozen=True, slots=True)
class Result:
    """The result for one object.

    `patch` is the patch of the mutating hook for a pod that is not denied. `omitted` counts, by code, the findings that
    are not listed. `reason` says why the object is exempt or skipped, or why its pods get their nodes later. `server`
    is the address of the running webhook that decided, empty if none did; `patch_differs`: its patch is not that of the
    local settings.
    """

    file: str
    document: int
    line: int
    subject: Subject
    decision: str
    findings: tuple[Located, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    server: str = ""
    patch_differs: bool = False


SKIPPED = "skipped"
"""The decision about an object of which nothing is checked."""

DECISIONS = ("allowed", "warned", "denied", SKIPPED)


@dataclass(slots=True)
class Report:
    """All results and errors of a run, in the order of the inputs."""

    results: list[Result] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)

    def summary(self) -> dict[str, int]:
        """Count the objects by decision, and the errors."""
        counts = dict.fromkeys(DECISIONS, 0)
        for result in self.results:
            counts[result.decision] += 1
        return {"objects": len(self.results), **counts, "errors": len(self.errors)}

    def exit_code(self, fail_on: str) -> ExitCode:
        """Return the exit code of the run. With `fail_on` "warn" a warned object counts as a denied one."""
        if self.errors:
            return ExitCode.WRONG_INPUT
        failing = ("denied", "warned") if fail_on == "warn" else ("denied",)
        return ExitCode.DENIED if any(result.decision in failing for result in self.results) else ExitCode.OK
