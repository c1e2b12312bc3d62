"""A review in, an answer out: which requests are checked, and how the API server learns the verdict.

Tolerations are atomic in `kubectl apply`: a second apply of a bare pod drops the injected ones, and the API server
rejects the update, because the tolerations of a pod can only grow. So the webhook restores the injected tolerations
that `oldObject` has.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import msgspec

from webhook.admission.review import Hook, ReceivedObject, Request, read
from webhook.admission.structure import BadReviewError
from webhook.diagnostics import dotted
from webhook.patch import build, pointer, verify
from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator, exemption
from webhook.policy.messages import printable
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import MalformedError
from webhook.policy.verdict import (
    MOST_EDITS,
    NOTHING_SUPPRESSED,
    UNTOUCHED,
    Append,
    Decision,
    Edit,
    Finding,
    Severity,
    Verdict,
)
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import is_pod

_encoder = msgspec.json.Encoder()


class Outcome:
    """The outcome of one request, for the answer, the log and the metrics.

    `proof_failure`: why a patch failed its proof and is not sent. `unpatched`: why no patch was built.
    """

    __slots__ = ("allowed", "operations", "proof_failure", "request", "unpatched", "verdict")

    def __init__(self, request: Request, verdict: Verdict) -> None:
        self.request = request
        self.verdict = verdict
        self.allowed = True
        self.operations: list[dict[str, Any]] = []
        self.proof_failure: str | None = None
        self.unpatched: str | None = None

    @property
    def name(self) -> str:
        """The object's name, or its `generateName`."""
        metadata = (self.request.object or {}).get("metadata") or {}
        return self.request.name or metadata.get("name") or metadata.get("generateName") or ""

    def body(self) -> bytes:
        response: dict[str, Any] = {"uid": self.request.uid, "allowed": self.allowed}
        verdict = self.verdict
        if not self.allowed:
            response["status"] = {
                "code": 403,
                "reason": "Forbidden",
                "message": denial(verdict),
                "details": {"causes": causes(verdict)},
            }
        if self.operations:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(_encoder.encode(self.operations)).decode()
        if verdict.findings or verdict.suppressed is not NOTHING_SUPPRESSED:
            if warned := warnings(verdict):
                response["warnings"] = warned
            response["auditAnnotations"] = _audit_annotations(verdict)
        return _encoder.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


_MOST_LINES = 100
"""Lines of a denial. A line has about 300 characters, so an answer without its patch stays below 64 KiB."""

_MOST_WARNINGS = 32
"""Warnings of one answer: the API server passes on about 4,096 characters of them (apiserver filters/warning.go)."""


def denial(verdict: Verdict) -> str:
    """The message of a denial: one line with the remedy per denying finding, then the number of further ones."""
    found = _of_severity(verdict, Severity.DENY, _MOST_LINES)
    lines = [line(finding) for finding in found]
    return "\n".join(lines + _more(verdict, Severity.DENY, len(lines)))


_MOST_CAUSES = 32
"""Causes of a denial. Each repeats the message of a line, and names a field."""

_FIELD = 200
"""Characters of the name of a field."""


def causes(verdict: Verdict) -> list[dict[str, str]]:
    """The denying findings for programs, in the order of the lines: metav1.StatusCause, whose reason is the code."""
    return [
        {"reason": finding.code, "message": finding.message, "field": printable(dotted(finding.path), _FIELD)}
        for finding in _of_severity(verdict, Severity.DENY, _MOST_CAUSES)
    ]


def warnings(verdict: Verdict) -> list[str]:
    """One warning per finding that warns, then the number of further ones."""
    found = _of_severity(verdict, Severity.WARN, _MOST_WARNINGS)
    lines = [line(finding) for finding in found]
    return lines + _more(verdict, Severity.WARN, len(lines))


def line(finding: Finding) -> str:
    """The line of a finding in a denial, with the remedy, or among the warnings, which have no room for it."""
    text = f"{finding.code} {finding.message}"
    return f"{text}; {finding.remedy}" if finding.severity is Severity.DENY else text


def _of_severity(verdict: Verdict, severity: Severity, most: int) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.severity is severity][:most]


def _more(verdict: Verdict, severity: Severity, shown: int) -> list[str]:
    if shown == sum([count for (_, found), count in verdict.counts.items() if found is severity]):
        return []
    counts = {code: count for (code, found), count in verdict.counts.items() if found is severity}
    return [f"and {sum(counts.values()) - shown} more findings of {', '.join(sorted(counts))}"]


def _audit_annotations(verdict: Verdict) -> dict[str, str]:
    """The findings, and the numbers of those that annotations suppress, by code."""
    audited = {}
    if verdict.findings:
        audited["findings"] = _findings(verdict)
    if verdict.suppressed.counts:
        audited["suppressed"] = ",".join(f"{code}={count}" for code, count in sorted(verdict.suppressed.counts.items()))
    return audited


def _findings(verdict: Verdict) -> str:
    """The kept findings by code and severity, then the number of further ones per code."""
    kept = [f"{finding.code}={finding.severity.label}" for finding in verdict.findings]
    return ",".join([*kept, *(f"{code}+{more}" for code, more in verdict.omitted().items())])


def respond(body: bytes | bytearray, hook: Hook, evaluator: Evaluator) -> Outcome:
    """The outcome for a review. Raises BadReviewError if it cannot be answered."""
    request = read(body)
    try:
        return _mutate(request, hook, evaluator) if hook.mutates else _validate(request, evaluator)
    except MalformedError as error:
        raise BadReviewError(f"the object is malformed at {printable(pointer(error.path)) or '/'}: {error}") from None


def _mutate(request: Request, hook: Hook, evaluator: Evaluator) -> Outcome:
    if not _is_pod(request) or request.subResource:
        return Outcome(request, UNTOUCHED)
    if request.operation == "UPDATE":
        pods, before = _pods(request, evaluator), _pods_before(request, evaluator)
        edits = lost_tolerations(pods[0], before[0], _origin(request, hook), evaluator) if pods and before else []
        return _patched(Outcome(request, UNTOUCHED), edits)
    if request.operation != "CREATE":
        return Outcome(request, UNTOUCHED)
    verdict = evaluator.verdict(_pods(request, evaluator), _origin(request, hook))
    outcome = Outcome(request, verdict)
    if verdict.decision is Decision.DENIED and evaluator.ruleset.settings.deny_in_mutate:
        outcome.allowed = False
        return outcome
    if verdict.too_many_edits:
        outcome.unpatched = f"the pod needs more than {MOST_EDITS} edits, so none is made"
    return _patched(outcome, verdict.edits) if verdict.edits else outcome


def _validate(request: Request, evaluator: Evaluator) -> Outcome:
    checked = _checked(request, evaluator) if (request.kind.group, request.kind.kind) in evaluator.kinds else None
    if checked is None:
        return Outcome(request, UNTOUCHED)
    outcome = Outcome(request, evaluator.verdict(checked.pods, checked.origin))
    outcome.allowed = outcome.verdict.decision is not Decision.DENIED
    return outcome


class _Checked(NamedTuple):
    """The pods of a request that the final hook checks, and their origin.

    `every` holds all pods of the object: the groups of a checked pod refer to them only weakly.
    """

    pods: list[ExtractedPod]
    every: list[ExtractedPod]
    origin: Origin


def _checked(request: Request, evaluator: Evaluator) -> _Checked | None:
    """What the final hook checks of a request; None for requests that it leaves alone."""
    match request.operation, request.subResource:
        case "CREATE", "":
            pods = _pods(request, evaluator)
            return _Checked(pods, pods, _origin(request, Hook.VALIDATE))
        case "UPDATE", "":
            pods, before = _pods(request, evaluator), _pods_before(request, evaluator)
            changed = _ungated(pods, before) if _is_pod(request) else _changed(pods, before)
            return _Checked(changed, pods, _origin(request, Hook.VALIDATE))
        case "UPDATE", "ephemeralcontainers" if _is_pod(request):
            pods = _pods(request, evaluator)
            added = _added_containers(pods, _pods_before(request, evaluator))
            return _Checked(pods, pods, _origin(request, Hook.VALIDATE, added))
    return None


def _is_pod(request: Request) -> bool:
    return is_pod(request.kind.group, request.kind.kind)


def _pods(request: Request, evaluator: Evaluator) -> list[ExtractedPod]:
    if request.object is None:
        raise BadReviewError(f"the request to {request.operation} has no object")
    return _extract(request, request.object, evaluator)


def _pods_before(request: Request, evaluator: Evaluator) -> list[ExtractedPod]:
    if request.oldObject is None:
        raise BadReviewError("the request to UPDATE has no oldObject")
    return _extract(request, request.oldObject, evaluator)


def _extract(request: Request, manifest: ReceivedObject, evaluator: Evaluator) -> list[ExtractedPod]:
    return evaluator.pods(manifest, request.kind.group, request.kind.kind)  # type: ignore[arg-type]  # a dict at run time


def _changed(pods: list[ExtractedPod], before: list[ExtractedPod]) -> list[ExtractedPod]:
    """The pods that an update changes. A workload that was wrong before can still be scaled and deleted."""
    old = {extracted.path: extracted.content for extracted in before}
    return [extracted for extracted in pods if old.get(extracted.path) != extracted.content]


def _ungated(pods: list[ExtractedPod], before: list[ExtractedPod]) -> list[ExtractedPod]:
    """The pods whose last scheduling gate an update removes: from now on the scheduler may place them."""
    gated = {extracted.path for extracted in before if extracted.pod.elements("schedulingGates")}
    return [
        extracted for extracted in pods if extracted.path in gated and not extracted.pod.elements("schedulingGates")
    ]


def _added_containers(pods: list[ExtractedPod], before: list[ExtractedPod]) -> frozenset[str]:
    """The names of the ephemeral containers that an update adds; existing ones can never change."""
    return _ephemeral_containers(pods) - _ephemeral_containers(before)


def _ephemeral_containers(pods: list[ExtractedPod]) -> frozenset[str]:
    return frozenset(container.name for extracted in pods for container in extracted.pod.ephemeral_containers())


def _origin(request: Request, hook: Hook, added_containers: frozenset[str] | None = None) -> Origin:
    return Origin(
        request.namespace,
        is_final_hook=not hook.mutates,
        is_update=request.operation == "UPDATE",
        added_containers=added_containers,
        hostpath=hook.hostpath,
        groups=tuple(request.userInfo.groups or ()),
    )


def _patched(outcome: Outcome, edits: Sequence[Edit]) -> Outcome:
    """Add the edits to the outcome as proven operations. If the proof fails, the object is not changed."""
    operations = build(outcome.request.object, edits)
    outcome.proof_failure = verify(outcome.request.object, operations)
    if outcome.proof_failure is None:
        outcome.operations = operations
    return outcome


def lost_tolerations(updated: ExtractedPod, before: ExtractedPod, origin: Origin, evaluator: Evaluator) -> list[Edit]:
    """The edits that restore the injected tolerations; an update gets no other edits."""
    context = evaluator.context(updated, origin)
    if exemption(context) is not None:
        return []
    keys = {injected["key"] for injected in context.placement.injected_tolerations}
    present, earlier = _with_keys(updated.pod, keys), _with_keys(before.pod, keys)
    return [
        Append((*updated.pod.spec_path, "tolerations"), injected)
        for injected in context.placement.injected_tolerations
        if frozenset(injected.items()) in earlier and frozenset(injected.items()) not in present
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
