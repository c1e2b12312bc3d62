"""A review in, an answer out: which requests are checked, and how the API server learns the verdict.

Tolerations are atomic in `kubectl apply`: a second apply of a bare pod drops the injected ones, and the API server
rejects the update, because the tolerations of a pod can only grow. So the webhook restores the injected tolerations
that `oldObject` has, in every mode. In the mode `off` nothing else of an object is looked at.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from webhook.admission.review import BadReviewError, Hook, Request, read
from webhook.diagnostics import Diagnostic, dotted
from webhook.manifests import Document, documents
from webhook.patch import Operation, build, pointer, verify
from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator, exemption
from webhook.policy.messages import cut, printable, shorten
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import NOTHING, MalformedError, Members, members
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.verdict import (
    MESSAGE_LIMIT,
    MOST_EDITS,
    UNTOUCHED,
    Append,
    Decision,
    Edit,
    Finding,
    Severity,
    Verdict,
    Violation,
)
from webhook.policy.workloads.kinds import ExtractedPod, is_pod

_encoder = msgspec.json.Encoder()


@dataclass(eq=False, slots=True)
class Outcome:
    """The outcome of one request, for the answer, the log and the metrics.

    `proof_failure`: why a patch failed its proof and is not sent. `unpatched`: why no patch was built. `injected` names
    the injections of the patch, `reported` those that are reported instead, with a warning if `warns`. `endings` holds
    the last lines of a denial by its first code.
    """

    request: Request
    endings: Mapping[str, str]
    verdict: Verdict = UNTOUCHED
    allowed: bool = True
    operations: list[Operation] = field(default_factory=list)
    injected: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    warns: bool = False
    proof_failure: str | None = None
    unpatched: str | None = None

    @property
    def name(self) -> str:
        """The object's name, or its `generateName`."""
        metadata = {} if self.request.name else (self.request.object or {}).get("metadata") or {}
        return self.request.name or metadata.get("name") or metadata.get("generateName") or ""

    def denial(self) -> str:
        """The denying findings without their remedies, on one line of at most 1,024 characters.

        The text is printable: the messages are, and a code stands before each.
        """
        said = [f"{one.code} {one.message}" for one in self.verdict.findings if one.severity is Severity.DENY]
        return cut("; ".join(said), _MESSAGE)

    def body(self) -> bytes:
        response: dict[str, Any] = {"uid": self.request.uid, "allowed": self.allowed}
        if self.operations:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(_encoder.encode(self.operations)).decode()
        if self.verdict.findings or self.reported:
            self._explain(response)
        return _encoder.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    def _explain(self, response: dict[str, Any]) -> None:
        """Add why the object is denied, the warnings, and the audit annotations."""
        verdict, denying, warned, kept = self.verdict, [], [], []
        for finding in verdict.findings:
            severity = finding.severity
            kept.append(f"{finding.code}={severity.label}")
            if severity is Severity.DENY:
                denying.append(finding)
            elif severity is Severity.WARN:
                warned.append(f"{finding.code} {finding.message}")  # there is no room for the remedy
        omitted = verdict.omitted()
        if not self.allowed:
            lines = [f"{one.code} {one.message}; {one.remedy}" for one in denying[:_MOST_LINES]]
            if omitted or len(denying) > _MOST_LINES:
                lines += _further(verdict, Severity.DENY, len(lines))
            lines.append(self.endings[denying[0].code])
            # For programs, in the order of the lines: metav1.StatusCause, whose reason is the code.
            causes = [
                {"reason": one.code, "message": one.message, "field": printable(dotted(one.path), _FIELD)}
                for one in denying[:_MOST_CAUSES]
            ]
            status = {"code": 403, "reason": "Forbidden", "message": "\n".join(lines), "details": {"causes": causes}}
            response["status"] = status
        if omitted or len(warned) > _MOST_WARNINGS:
            del warned[_MOST_WARNINGS:]
            warned += _further(verdict, Severity.WARN, len(warned))
        if self.warns:
            warned.append(f"gpushare-webhook would inject: {', '.join(self.reported)}")
        if warned:
            response["warnings"] = warned
        # The injections that are only reported, the kept findings, and the numbers of further ones by code.
        audited = response["auditAnnotations"] = {"would-inject": ",".join(self.reported)} if self.reported else {}
        if kept:
            audited["findings"] = ",".join(kept + [f"{code}+{more}" for code, more in omitted.items()])


_MOST_LINES = 100
"""Lines of a denial. A line has about 300 characters, so an answer without its patch stays below 64 KiB."""

_MOST_WARNINGS = 32
"""Warnings of one answer: the API server passes on about 4,096 characters of them (apiserver filters/warning.go)."""

_MOST_CAUSES = 32
"""Causes of a denial. Each repeats the message of a line, and names a field."""

_FIELD = 200
"""Characters of the name of a field."""

_MESSAGE = 1024
"""Characters of a denial in the log."""


def _further(verdict: Verdict, severity: Severity, shown: int) -> list[str]:
    """A line with the number of findings of a severity beyond those that are shown; none if there are no others."""
    counts = {code: count for (code, found), count in verdict.counts.items() if found is severity}
    more = sum(counts.values()) - shown
    return [f"and {more} more findings of {', '.join(sorted(counts))}"] if more else []


def respond(body: bytes | bytearray, hook: Hook, evaluator: Evaluator) -> Outcome:
    """The outcome for a review. Raises BadReviewError if it cannot be answered."""
    request = read(body)
    outcome = Outcome(request, evaluator.snapshot.endings)
    try:
        if hook.mutates:
            _mutate(outcome, hook, evaluator)
        else:
            outcome.verdict = _validated(request, evaluator)
            outcome.allowed = outcome.verdict.decision is not Decision.DENIED
    except MalformedError as error:
        raise BadReviewError(f"the object is malformed at {printable(pointer(error.path)) or '/'}: {error}") from None
    return outcome


def _mutate(outcome: Outcome, hook: Hook, evaluator: Evaluator) -> None:
    request = outcome.request
    if (
        not is_pod(request.kind.group, request.kind.kind)
        or request.subResource
        or request.operation not in ("CREATE", "UPDATE")
    ):
        return
    if request.operation == "CREATE" and evaluator.snapshot.cap == "off":
        return
    pods, origin = _pods(request, "object", evaluator), _origin(request, hook)
    if request.operation == "UPDATE":
        before = _pods(request, "oldObject", evaluator)
        edits: Sequence[Edit] = lost_tolerations(pods[0], before[0], origin, evaluator) if pods and before else ()
    else:
        outcome.verdict = verdict = evaluator.verdict(pods, origin)
        if verdict.decision is Decision.DENIED and evaluator.snapshot.settings.deny_in_mutate:
            outcome.allowed = False
            return
        if verdict.too_many_edits:
            outcome.unpatched = f"the pod needs more than {MOST_EDITS} edits, so none is made"
        if verdict.reported:
            outcome.reported, outcome.warns = verdict.reported, evaluator.snapshot.of(request.namespace).warns
        edits = verdict.sent
    if edits:
        operations = build(request.object, edits)
        outcome.proof_failure = verify(request.object, operations)
        if outcome.proof_failure is None:
            outcome.operations, outcome.injected = operations, outcome.verdict.injected  # else nothing is changed


def _validated(request: Request, evaluator: Evaluator) -> Verdict:
    """The verdict for what a request changes."""
    kind = request.kind.group, request.kind.kind
    if evaluator.snapshot.cap == "off":
        return UNTOUCHED
    if kind == ("", "ConfigMap"):
        if request.subResource or request.operation not in ("CREATE", "UPDATE"):
            return UNTOUCHED
        known = _object(request, "oldObject") if request.operation == "UPDATE" else NOTHING
        return _by_key(evaluator.configurations(_configurations(_object(request, "object"), known)))
    if kind not in evaluator.kinds:
        return UNTOUCHED
    added: frozenset[str] | None = None
    # `pods` holds all pods of the object: the groups of a checked pod refer to them only weakly.
    match request.operation, request.subResource:
        case "CREATE", "":
            checked = pods = _pods(request, "object", evaluator)
        case "UPDATE", "":
            pods, before = _pods(request, "object", evaluator), _pods(request, "oldObject", evaluator)
            if is_pod(*kind):  # those whose last gate goes: from now on the scheduler may place them
                gated = {extracted.path for extracted in before if extracted.pod.elements("schedulingGates")}
                checked = [one for one in pods if one.path in gated and not one.pod.elements("schedulingGates")]
            else:  # those that change: a workload that was wrong before can still be scaled and deleted
                old = {extracted.path: extracted.content for extracted in before}
                checked = [extracted for extracted in pods if old.get(extracted.path) != extracted.content]
        case "UPDATE", "ephemeralcontainers" if is_pod(*kind):
            checked = pods = _pods(request, "object", evaluator)
            # Existing ephemeral containers can never change.
            added = _ephemeral_containers(pods) - _ephemeral_containers(_pods(request, "oldObject", evaluator))
        case _:
            return UNTOUCHED
    return evaluator.verdict(checked, _origin(request, Hook.VALIDATE, added))


def _pods(request: Request, field: Literal["object", "oldObject"], evaluator: Evaluator) -> list[ExtractedPod]:
    return evaluator.pods(_object(request, field), request.kind.group, request.kind.kind)


def _object(request: Request, field: Literal["object", "oldObject"]) -> Members:
    manifest = request.object if field == "object" else request.oldObject
    if manifest is None:
        raise BadReviewError(f"the request to {request.operation} has no {field}")
    return manifest  # type: ignore[return-value]  # a dict at run time


def _ephemeral_containers(pods: list[ExtractedPod]) -> frozenset[str]:
    return frozenset(container.name for extracted in pods for container in extracted.pod.ephemeral_containers())


def _origin(request: Request, hook: Hook, added_containers: frozenset[str] | None = None) -> RequestContext:
    return RequestContext(
        request.namespace,
        not hook.mutates,
        request.operation == "UPDATE",
        added_containers,
        hook.hostpath,
        tuple(request.userInfo.groups or ()),
    )


def lost_tolerations(
    updated: ExtractedPod, before: ExtractedPod, origin: RequestContext, evaluator: Evaluator
) -> list[Edit]:
    """The edits that restore the injected tolerations; an update gets no other edits."""
    context = evaluator.context(updated, origin)
    if exemption(context) is not None:
        return []
    keys = {injected["key"] for injected in context.placement.injected_tolerations}
    present, earlier = _with_keys(updated.pod, keys), _with_keys(before.pod, keys)
    return [
        Append((*updated.pod.spec_path, "tolerations"), injected)
        for injected in context.placement.injected_tolerations
        if frozenset(injected.items()) in earlier - present
    ]


def _with_keys(pod: Pod, keys: Set[str]) -> set[frozenset[tuple[str, object]]]:
    """The pod's tolerations with these keys. Tolerations of the settings have only scalar members, so others differ."""
    return {
        frozenset(raw.items())
        for raw in pod.elements("tolerations")
        if isinstance(key := raw.get("key"), str)
        and key in keys
        and not any(isinstance(member, dict | list) for member in raw.values())
    }


CHARACTERS = 32 * 1024
"""Characters of the texts of one request that are read: fifty times a usual configuration. YAML takes 0.8 µs each."""

MOST_VALUES = 4096
"""Values that these texts may hold, with those of aliases at each place: a check takes up to 15 µs for one."""

_OF_A_TEXT = 64
"""Characters that a text counts for besides its own, as the time to read a text does not depend on its length alone."""

_DATA = "data"
_TOO_LARGE = Violation(
    (),
    "this text and those after it are too large to check",
    "check the file with gpushare-webhook check",
    Severity.WARN,
)


def _configurations(written: Members, before: Members) -> Iterator[SharingConfig]:
    """Yield the texts of a ConfigMap that differ from those before it. Raises MalformedError.

    Each is a configuration, whatever it looks like: the administrator named the ConfigMap, and nodes choose any key.
    What this reader cannot read is no ground for a denial, as the plugin's reader accepts more, such as a key that is
    given twice.
    """
    texts, known = members(written, _DATA, ()), members(before, _DATA, ())
    characters, values = CHARACTERS, MOST_VALUES
    for key, text in texts.items():
        if not isinstance(text, str) or known.get(key) == text:
            continue
        characters -= len(text) + _OF_A_TEXT
        # The plugin reads the first document alone.
        found = next(documents("", text.encode(errors="replace")), None) if characters >= 0 else None
        values -= _count(found.value, values + 1) if isinstance(found, Document) else 0
        if min(characters, values) < 0:
            yield SharingConfig(None, None, _TOO_LARGE, (_DATA, key))
            return
        if isinstance(found, Diagnostic):
            why = f"cannot be read, line {found.line}: {printable(found.message, MESSAGE_LIMIT)}"
            yield SharingConfig(None, None, Violation((), why, "correct the text", Severity.WARN), (_DATA, key))
            continue
        yield SharingConfig(None if found is None else found.value, path=(_DATA, key))


def _count(value: Any, most: int) -> int:
    """The number of values in a value, those of aliases counted at each place; `most` if there are more."""
    count, pending = 0, [value]
    while pending and count < most:
        held = pending.pop()
        inner = held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
        count += len(inner)
        pending.extend(inner)
    return min(count, most)


_KEY = 24
_PLACE = 40
"""Characters of a key and of a place in its text that a message shows. A third of it is left for the problem."""


def _by_key(verdict: Verdict) -> Verdict:
    """The verdict with findings that lead to a key of the ConfigMap, and name it and the place in its text."""
    findings: list[Finding] = []
    for finding in verdict.findings:
        key, inner = finding.path[:2], finding.path[2:]
        place = f'"{printable(key[-1], _KEY)}"' + (f", {printable(dotted(inner), _PLACE)}" if inner else "")
        message = f"{place}: {shorten(finding.message, MESSAGE_LIMIT - len(place) - 2)}"
        findings.append(Finding(finding.code, finding.severity, key, message, finding.remedy))
    return verdict._replace(findings=tuple(findings))
