"""The answer of a running webhook, read from its AdmissionReview without trust.

The audit annotation `findings` lists the code and severity of each finding. The lines of the denial and the warnings
carry the messages, and the causes of a denial the fields, in the same order. A line that does not begin with the code
of its finding is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from webhook.diagnostics import undotted
from webhook.policy.printable import printable
from webhook.policy.verdict import Path, Severity
from webhook.remote.errors import UnansweredError

MOST_FINDINGS = 1000
"""Findings that an answer may list. A webhook lists at most 20 of each of its codes."""

_LINE = 1024
"""Characters of a line of the server that are shown; a webhook's own lines have about 300."""

_FIELD = 256
"""Characters of the name of a field that are read."""

_NOT_A_WEBHOOK = "check that the address is the review port of gpushare-webhook"


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding of the server. `line` is its line in the denial or warnings; None where the answer has none for it.

    The line begins with the code, that of a finding that denies ends with the remedy. `message` is the line without
    these two, `field` the path of the value: both are empty unless the answer names them. All are safe to print.
    """

    code: str
    severity: Severity
    line: str | None
    message: str = ""
    field: Path = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server decided. `omitted` counts, by code, the findings that are not listed.

    `operations` is the JSON Patch of the mutating hook.
    """

    allowed: bool
    findings: tuple[Reported, ...] = ()
    omitted: dict[str, int] = field(default_factory=dict)
    operations: tuple[dict[str, Any], ...] = ()


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class _Status(msgspec.Struct):
    message: str = ""
    details: _Details | None = None


class _Response(msgspec.Struct):
    uid: str
    allowed: bool
    status: _Status | None = None
    patch: bytes | None = None
    warnings: list[str] | None = None
    auditAnnotations: dict[str, str] | None = None  # noqa: N815 - the API's own name


class _Review(msgspec.Struct):
    apiVersion: str  # noqa: N815
    kind: str
    response: _Response


class _Operation(msgspec.Struct, forbid_unknown_fields=True):
    op: str
    path: str
    value: Any = None


_VERSION = "admission.k8s.io/v1"
_decoder = msgspec.json.Decoder(_Review)
_operations_decoder = msgspec.json.Decoder(list[_Operation])
_SEVERITIES = {severity.label: severity for severity in (Severity.AUDIT, Severity.WARN, Severity.DENY)}
_FINDING = re.compile(r"(GPS[0-9]{3})=(deny|warn|audit)", re.ASCII)
_OMITTED = re.compile(r"(GPS[0-9]{3})\+([0-9]{1,9})", re.ASCII)
_MORE = re.compile(r"and [0-9]{1,9} more findings of [GPS0-9, ]{1,1000}", re.ASCII)


def read(body: bytes, uid: str) -> Answer:
    """Return the answer to the review with this uid. Raises UnansweredError."""
    try:
        review = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnansweredError(f"the response is not an AdmissionReview; {_NOT_A_WEBHOOK}") from None
    response = review.response
    if review.kind != "AdmissionReview" or review.apiVersion != _VERSION:
        given = f'kind "{printable(review.kind)}" in "{printable(review.apiVersion)}"'
        raise UnansweredError(f"the response is of {given}; {_NOT_A_WEBHOOK}")
    if response.uid != uid:
        raise UnansweredError(
            f'the response answers another review: its uid is "{printable(response.uid)}", not "{uid}"; '
            "check what forwards the connection"
        )
    findings, omitted = _listed(response)
    return Answer(response.allowed, tuple(findings), omitted, _operations(response.patch))


def _listed(response: _Response) -> tuple[list[Reported], dict[str, int]]:
    """The findings, and the numbers of those that are not listed. Raises UnansweredError."""
    denial = response.status.message if response.status is not None and not response.allowed else ""
    annotation = (response.auditAnnotations or {}).get("findings")
    if annotation is None:
        if not response.allowed or response.warnings:
            said = printable(denial or "; ".join((response.warnings or [])[:1]), _LINE)
            outcome = "is allowed with a warning" if response.allowed else "is denied"
            raise UnansweredError(
                f'the object {outcome} in a form that gpushare-webhook does not use: "{said}"; {_NOT_A_WEBHOOK}'
            )
        return [], {}
    entries, omitted = _entries(annotation)
    lines = {
        Severity.DENY: _messages(denial.split("\n") if denial else ()),
        Severity.WARN: _messages(response.warnings or ()),
    }
    causes = iter(_causes(response))
    findings = []
    for code, severity in entries:
        line = next(lines[severity], None) if severity in lines else None
        cause = next(causes, None) if severity is Severity.DENY else None
        findings.append(_reported(code, severity, line, cause))
    if not response.allowed and not omitted and not any(one.severity is Severity.DENY for one in findings):
        raise UnansweredError(f'the object is denied without a finding that denies it: "{printable(denial, _LINE)}"')
    return findings, omitted


def _reported(code: str, severity: Severity, line: str | None, cause: _Cause | None) -> Reported:
    """The finding with its line, and with the cause if both agree."""
    if line is None or cause is None or cause.reason != code or not line.startswith(f"{code} {cause.message}; "):
        return Reported(code, severity, line)
    return Reported(code, severity, line, cause.message, undotted(cause.field[:_FIELD]))


def _causes(response: _Response) -> Sequence[_Cause]:
    """The causes of a denial, in the order of its lines."""
    details = None if response.status is None else response.status.details
    return () if details is None else details.causes or ()


def _entries(annotation: str) -> tuple[list[tuple[str, Severity]], dict[str, int]]:
    """The findings of the audit annotation by code and severity, and the numbers of those that it only counts."""
    entries: list[tuple[str, Severity]] = []
    omitted: dict[str, int] = {}
    for number, entry in enumerate(annotation.split(",", MOST_FINDINGS)):
        if number == MOST_FINDINGS:
            raise UnansweredError(f"the response lists more than {MOST_FINDINGS} findings; {_NOT_A_WEBHOOK}")
        if found := _FINDING.fullmatch(entry):
            entries.append((found[1], _SEVERITIES[found[2]]))
        elif counted := _OMITTED.fullmatch(entry):
            omitted[counted[1]] = omitted.get(counted[1], 0) + int(counted[2])
        else:
            raise UnansweredError(f'the response lists a finding as "{printable(entry)}"; {_NOT_A_WEBHOOK}')
    return entries, omitted


def _messages(lines: Iterable[str]) -> Iterator[str]:
    """The lines that are messages of findings: not the last one, which counts further findings."""
    return (printable(line, _LINE) for line in lines if not _MORE.fullmatch(line))


def _operations(patch: bytes | None) -> tuple[dict[str, Any], ...]:
    """The operations of a patch. Raises UnansweredError."""
    if patch is None:
        return ()
    try:
        operations = _operations_decoder.decode(patch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnansweredError(f"the response has a patch that is not a JSON Patch; {_NOT_A_WEBHOOK}") from None
    return tuple({"op": one.op, "path": one.path, "value": one.value} for one in operations)
