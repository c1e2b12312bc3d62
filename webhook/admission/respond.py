"""A review in, an answer out: which requests are checked, and how the API server learns the verdict."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from webhook.admission.hook import Hook
from webhook.admission.restore import lost_tolerations
from webhook.admission.review import BadReviewError, Request, read
from webhook.patch import build, flaw, pointer
from webhook.policy.context import Origin
from webhook.policy.evaluate import judge
from webhook.policy.pods.reading import MalformedError
from webhook.policy.printable import printable
from webhook.policy.rules import Ruleset
from webhook.policy.verdict import MOST_EDITS, UNTOUCHED, Decision, Edit, Severity, Verdict
from webhook.policy.workloads.kinds import ExtractedPod, Table, is_suspended, pods

_encoder = msgspec.json.Encoder()


class Outcome:
    """What was decided about one request, for the answer, the log and the metrics.

    `flaw` says why a patch failed its proof and was not sent, `unpatched` why none was built.
    """

    __slots__ = ("allowed", "flaw", "operations", "request", "unpatched", "verdict")

    def __init__(self, request: Request, verdict: Verdict) -> None:
        self.request = request
        self.verdict = verdict
        self.allowed = True
        self.operations: list[dict[str, Any]] = []
        self.flaw: str | None = None
        self.unpatched: str | None = None

    @property
    def name(self) -> str:
        """The object's name, or the start of the name it is to get."""
        metadata = (self.request.object or {}).get("metadata") or {}
        return self.request.name or metadata.get("name") or metadata.get("generateName") or ""

    def body(self) -> bytes:
        """The AdmissionReview that answers."""
        response: dict[str, Any] = {"uid": self.request.uid, "allowed": self.allowed}
        verdict = self.verdict
        if not self.allowed:
            response["status"] = {"code": 403, "reason": "Forbidden", "message": denial(verdict)}
        if self.operations:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(_encoder.encode(self.operations)).decode()
        if verdict.findings:
            if warned := warnings(verdict):
                response["warnings"] = warned
            response["auditAnnotations"] = {"findings": _listed(verdict)}
        return _encoder.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


_MOST_LINES = 100
"""Lines of a denial. A line has about 300 characters, so that an answer without its patch stays below 64 KiB."""

_MOST_WARNINGS = 32
"""Warnings of one answer: the API server passes on about 4,096 characters of them (apiserver filters/warning.go)."""


def denial(verdict: Verdict) -> str:
    """The message of a denial: one line per finding that denies, with its remedy, then how many more there are."""
    lines = [
        f"{found.code} {found.message}; {found.remedy}" for found in verdict.findings if found.severity is Severity.DENY
    ][:_MOST_LINES]
    return "\n".join([*lines, *_more(verdict, Severity.DENY, len(lines))])


def warnings(verdict: Verdict) -> list[str]:
    """One warning per finding that warns, then how many more there are."""
    lines = [f"{found.code} {found.message}" for found in verdict.findings if found.severity is Severity.WARN]
    lines = lines[:_MOST_WARNINGS]
    return [*lines, *_more(verdict, Severity.WARN, len(lines))]


def _more(verdict: Verdict, severity: Severity, shown: int) -> Iterator[str]:
    counts = {code: count for (code, found), count in verdict.counts.items() if found is severity}
    if (more := sum(counts.values()) - shown) > 0:
        yield f"and {more} more findings of {', '.join(sorted(counts))}"


def _listed(verdict: Verdict) -> str:
    """The kept findings by code and severity, then how many more of each there are."""
    listed = [f"{found.code}={found.severity.label}" for found in verdict.findings]
    return ",".join([*listed, *(f"{code}+{more}" for code, more in verdict.omitted().items())])


def respond(body: bytes | bytearray, hook: Hook, ruleset: Ruleset, kinds: Table) -> Outcome:
    """The outcome for a review. Raises BadReviewError where it cannot be answered."""
    request = read(body)
    try:
        return _mutate(request, hook, ruleset, kinds) if hook.mutates else _validate(request, ruleset, kinds)
    except MalformedError as error:
        raise BadReviewError(f"the object is malformed at {printable(pointer(error.path)) or '/'}: {error}") from None


def _mutate(request: Request, hook: Hook, ruleset: Ruleset, kinds: Table) -> Outcome:
    if not _is_pod(request) or request.subResource:
        return Outcome(request, UNTOUCHED)
    if request.operation == "UPDATE":
        held, before = _held(request, kinds), _held_before(request, kinds)
        origin = _origin(request, hook)
        edits = lost_tolerations(held[0].pod, before[0].pod, origin, ruleset) if held and before else []
        return _patched(Outcome(request, UNTOUCHED), edits)
    if request.operation != "CREATE":
        return Outcome(request, UNTOUCHED)
    verdict = judge(_held(request, kinds), _origin(request, hook), ruleset)
    outcome = Outcome(request, verdict)
    if verdict.decision is Decision.DENIED and ruleset.settings.deny_in_mutate:
        outcome.allowed = False
        return outcome
    if verdict.too_many_edits:
        outcome.unpatched = f"the pod needs more than {MOST_EDITS} edits, so none is made"
    return _patched(outcome, verdict.edits)


def _validate(request: Request, ruleset: Ruleset, kinds: Table) -> Outcome:
    checked = _checked(request, kinds) if (request.kind.group, request.kind.kind) in kinds else None
    if checked is None:
        return Outcome(request, UNTOUCHED)
    outcome = Outcome(request, judge(*checked, ruleset))
    outcome.allowed = outcome.verdict.decision is not Decision.DENIED
    return outcome


def _checked(request: Request, kinds: Table) -> tuple[list[ExtractedPod], Origin] | None:
    """The pods of a request that the last hook checks, and where they come from; None for all other requests."""
    itself = _is_pod(request)
    match request.operation, request.subResource:
        case "CREATE", "":
            return _held(request, kinds), _origin(request, Hook.VALIDATE, arrived=itself)
        case "UPDATE", "" if itself:
            released = _released(_held(request, kinds), _held_before(request, kinds))
            return released, _origin(request, Hook.VALIDATE, released=True)
        case "UPDATE", "":
            return _changed(_held(request, kinds), _held_before(request, kinds)), _origin(request, Hook.VALIDATE)
        case "UPDATE", "ephemeralcontainers" if itself:
            held = _held(request, kinds)
            return held, _origin(request, Hook.VALIDATE, added=_added(held, _held_before(request, kinds)))
    return None


def _is_pod(request: Request) -> bool:
    return request.kind.kind == "Pod" and not request.kind.group


def _held(request: Request, kinds: Table) -> list[ExtractedPod]:
    if request.object is None:
        raise BadReviewError(f"the request to {request.operation} has no object")
    return pods(kinds, request.kind.group, request.kind.kind, request.object)  # type: ignore[arg-type]


def _held_before(request: Request, kinds: Table) -> list[ExtractedPod]:
    if request.oldObject is None:
        raise BadReviewError("the request to UPDATE has no oldObject")
    return pods(kinds, request.kind.group, request.kind.kind, request.oldObject)  # type: ignore[arg-type]


def _changed(held: list[ExtractedPod], before: list[ExtractedPod]) -> list[ExtractedPod]:
    """The templates that an update changes; a workload that was wrong before can still be scaled and deleted."""
    old = {one.path: one.raw for one in before}
    return [one for one in held if old.get(one.path) != one.raw]


def _released(held: list[ExtractedPod], before: list[ExtractedPod]) -> list[ExtractedPod]:
    """The pods whose last scheduling gate an update removes: from now on the scheduler may place them."""
    gated = {one.path for one in before if one.pod.elements("schedulingGates")}
    return [one for one in held if one.path in gated and not one.pod.elements("schedulingGates")]


def _added(held: list[ExtractedPod], before: list[ExtractedPod]) -> frozenset[str]:
    """The names of the ephemeral containers that an update adds; those that are there can never change."""
    known = {container.name for one in before for container in one.pod.ephemeral_containers()}
    return frozenset(
        container.name for one in held for container in one.pod.ephemeral_containers() if container.name not in known
    )


def _origin(
    request: Request,
    hook: Hook,
    *,
    arrived: bool = False,
    released: bool = False,
    added: frozenset[str] | None = None,
) -> Origin:
    itself = _is_pod(request)
    return Origin(
        request.namespace,
        itself=itself,
        arrived=arrived,
        released=released,
        added=added,
        hostpath=hook.hostpath,
        groups=tuple(request.userInfo.groups or ()),
        open=not itself and is_suspended(request.kind.kind, request.object),  # type: ignore[arg-type]
    )


def _patched(outcome: Outcome, edits: Sequence[Edit]) -> Outcome:
    """Put the edits into the outcome as proven operations; without a proof the object goes on as it is."""
    operations = build(outcome.request.object, edits)
    outcome.flaw = flaw(outcome.request.object, operations)
    if outcome.flaw is None:
        outcome.operations = operations
    return outcome
