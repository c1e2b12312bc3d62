"""What a check of manifests says, before it is written in some format.

Fields hold what the manifests say, as it is: that is data. As text an object passes the sanitiser, so use `str`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.diagnostics import LINE, Diagnostic
from webhook.policy.printable import printable
from webhook.policy.verdict import Finding


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that a result is about. `namespace` and `name` are empty when absent."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind, namespace, name = map(printable, (self.kind, self.namespace, self.name))
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".rstrip()


@dataclass(frozen=True, slots=True)
class Located:
    """A finding with its place in the file, 1-based, and its JSON pointer into the object."""

    finding: Finding
    pointer: str
    line: int
    column: int

    def __str__(self) -> str:
        return printable(f"{self.finding.code} {self.finding.message}", LINE)

    def at(self, file: str) -> str:
        """Its place in a file, as compilers write it."""
        return printable(f"{file}:{self.line}:{self.column}", LINE)


@dataclass(frozen=True, slots=True)
class Result:
    """What is said of one object.

    `patch` is what the mutating hook would send for a pod that is not denied. `omitted` counts, by code, the findings
    that are not listed.
    """

    file: str
    document: int
    line: int
    subject: Subject
    decision: str
    findings: tuple[Located, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)


DECISIONS = ("allowed", "warned", "denied", "skipped")


@dataclass(slots=True)
class Report:
    """All results and errors of a run, in the order of the inputs."""

    results: list[Result] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)

    def summary(self) -> dict[str, int]:
        """How many objects there were of each decision, and how many errors."""
        counts = dict.fromkeys(DECISIONS, 0)
        for result in self.results:
            counts[result.decision] += 1
        return {"objects": len(self.results), **counts, "errors": len(self.errors)}

    def exit_code(self, fail_on: str) -> int:
        """0 when all is well, 1 when something is denied (or warned, with `fail_on` warn), 2 after an error."""
        if self.errors:
            return 2
        failing = ("denied", "warned") if fail_on == "warn" else ("denied",)
        return int(any(result.decision in failing for result in self.results))
