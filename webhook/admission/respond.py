"""A review in, an answer out: which requests are checked, and how the API server learns the verdict.

Tolerations are atomic in `kubectl apply`: a second apply of a bare pod drops the injected ones, and the API server
rejects the update, because the tolerations of a pod can only grow. So the webhook restores the injected tolerations
that `oldObject` has, in every mode. In the mode `off` nothing else of an object is looked at.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal

import msgspec

from webhook.admission.configurations import by_key, configurations
from webhook.admission.review import Hook, Request, read
from webhook.admission.structure import BadReviewError
from webhook.diagnostics import dotted
from webhook.patch import build, pointer, verify
from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator, exemption
from webhook.policy.messages import cut, printable
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import MalformedError, Members
from webhook.policy.verdict import MOST_EDITS, UNTOUCHED, Append, Decision, Edit, Finding, Severity, Verdict
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import is_pod

_encoder = msgspec.json.Encoder()
_NO_ENDINGS: Mapping[str, str] = {}


class Outcome:
    """The outcome of one request, for the answer, the log, the metrics and Events.

    `proof_failure`: why a patch failed its proof and is not sent. `unpatched`: why no patch was built. `injected` names
    the injections of the patch, `reported` those that are reported instead, with a warning if `warns`. `endings` holds
    the last lines of a denial by its first code.
    """

    __slots__ = (
        "allowed",
        "endings",
        "injected",
        "operations",
        "proof_failure",
        "reported",
        "request",
        "unpatched",
        "verdict",
        "warns",
    )

    def __init__(self, request: Request, endings: Mapping[str, str] = _NO_ENDINGS) -> None:
        self.request = request
        self.endings = endings
        self.verdict = UNTOUCHED
        self.allowed = True
        self.operations: list[dict[str, Any]] = []
        self.injected: tuple[str, ...] = ()
        self.reported: tuple[str, ...] = ()
        self.warns = False
        self.proof_failure: str | None = None
        self.unpatched: str | None = None

    @property
    def name(self) -> str:
        """The object's name, or its `generateName`."""
        metadata = {} if self.request.name else (self.request.object or {}).get("metadata") or {}
        return self.request.name or metadata.get("name") or metadata.get("generateName") or ""

    def denial(self) -> str:
        """The denying findings without their remedies, on one line of at most 1,024 characters.

        The text is printable: the messages are, and a code stands before each.
        """
        deny = Severity.DENY
        denying = [f"{finding.code} {finding.message}" for finding in self.verdict.findings if finding.severity is deny]
        return cut("; ".join(denying), _MESSAGE)

    def denial_lines(self) -> list[str]:
        """The lines of a denial about the findings, each with its remedy."""
        return _lines(self.verdict, Severity.DENY, _MOST_LINES)

    def body(self) -> bytes:
        response: dict[str, Any] = {"uid": self.request.uid, "allowed": self.allowed}
        verdict = self.verdict
        if not self.allowed:
            causes = _causes(verdict)
            response["status"] = {
                "code": 403,
                "reason": "Forbidden",
                "message": "\n".join([*self.denial_lines(), self.endings[causes[0]["reason"]]]),
                "details": {"causes": causes},
            }
        if self.operations:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(_encoder.encode(self.operations)).decode()
        if verdict.findings or verdict.suppressed.counts or self.reported:
            if warned := self._warnings():
                response["warnings"] = warned
            response["auditAnnotations"] = _audit_annotations(verdict, self.reported)
        return _encoder.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    def _warnings(self) -> list[str]:
        warned = _lines(self.verdict, Severity.WARN, _MOST_WARNINGS)
        return [*warned, f"gpushare-webhook would inject: {', '.join(self.reported)}"] if self.warns else warned


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


def _causes(verdict: Verdict) -> list[dict[str, str]]:
    """The denying findings for programs, in the order of the lines: metav1.StatusCause, whose reason is the code."""
    return [
        {"reason": finding.code, "message": finding.message, "field": printable(dotted(finding.path), _FIELD)}
        for finding in _of_severity(verdict, Severity.DENY, _MOST_CAUSES)
    ]


def line(finding: Finding) -> str:
    """The line of a finding in a denial, with the remedy, or among the warnings, which have no room for it."""
    text = f"{finding.code} {finding.message}"
    return f"{text}; {finding.remedy}" if finding.severity is Severity.DENY else text


def _of_severity(verdict: Verdict, severity: Severity, most: int) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.severity is severity][:most]


def _lines(verdict: Verdict, severity: Severity, most: int) -> list[str]:
    """One line per finding of a severity, then the number of further ones."""
    lines = [line(finding) for finding in _of_severity(verdict, severity, most)]
    counts = {code: count for (code, found), count in verdict.counts.items() if found is severity}
    further = sum(counts.values()) - len(lines)
    return [*lines, f"and {further} more findings of {', '.join(sorted(counts))}"] if further else lines


def _audit_annotations(verdict: Verdict, reported: Sequence[str]) -> dict[str, str]:
    """The kept findings by code and severity, the numbers by code of further and of suppressed findings, and the
    injections that are only reported.
    """
    audited = {"would-inject": ",".join(reported)} if reported else {}
    if verdict.findings:
        kept = [f"{finding.code}={finding.severity.label}" for finding in verdict.findings]
        audited["findings"] = ",".join([*kept, *(f"{code}+{more}" for code, more in verdict.omitted().items())])
    if verdict.suppressed.counts:
        audited["suppressed"] = ",".join(f"{code}={count}" for code, count in sorted(verdict.suppressed.counts.items()))
    return audited


def respond(body: bytes | bytearray, hook: Hook, evaluator: Evaluator) -> Outcome:
    """The outcome for a review. Raises BadReviewError if it cannot be answered."""
    request = read(body)
    try:
        return _mutate(request, hook, evaluator) if hook.mutates else _validate(request, evaluator)
    except MalformedError as error:
        raise BadReviewError(f"the object is malformed at {printable(pointer(error.path)) or '/'}: {error}") from None


def _mutate(request: Request, hook: Hook, evaluator: Evaluator) -> Outcome:
    outcome = Outcome(request, evaluator.ruleset.endings)
    if not _is_pod(request) or request.subResource or request.operation not in ("CREATE", "UPDATE"):
        return outcome
    if request.operation == "CREATE" and evaluator.ruleset.cap == "off":
        return outcome
    pods, origin = _pods(request, "object", evaluator), _origin(request, hook)
    if request.operation == "UPDATE":
        before = _pods(request, "oldObject", evaluator)
        edits: Sequence[Edit] = lost_tolerations(pods[0], before[0], origin, evaluator) if pods and before else ()
    else:
        outcome.verdict = verdict = evaluator.verdict(pods, origin)
        if verdict.decision is Decision.DENIED and evaluator.ruleset.settings.deny_in_mutate:
            outcome.allowed = False
            return outcome
        if verdict.too_many_edits:
            outcome.unpatched = f"the pod needs more than {MOST_EDITS} edits, so none is made"
        if verdict.reported:
            outcome.reported, outcome.warns = verdict.reported, evaluator.ruleset.of(request.namespace).warns
        edits = verdict.sent
    if edits:
        operations = build(request.object, edits)
        outcome.proof_failure = verify(request.object, operations)
        if outcome.proof_failure is None:
            outcome.operations, outcome.injected = operations, outcome.verdict.injected  # else nothing is changed
    return outcome


def _validate(request: Request, evaluator: Evaluator) -> Outcome:
    outcome = Outcome(request, evaluator.ruleset.endings)
    if evaluator.ruleset.cap == "off":
        return outcome
    if (request.kind.group, request.kind.kind) == _CONFIG_MAP:
        outcome.verdict = _of_config_map(request, evaluator)
        outcome.allowed = outcome.verdict.decision is not Decision.DENIED
        return outcome
    if (request.kind.group, request.kind.kind) not in evaluator.kinds:
        return outcome
    added: frozenset[str] | None = None
    # `pods` holds all pods of the object: the groups of a checked pod refer to them only weakly.
    match request.operation, request.subResource:
        case "CREATE", "":
            checked = pods = _pods(request, "object", evaluator)
        case "UPDATE", "":
            pods, before = _pods(request, "object", evaluator), _pods(request, "oldObject", evaluator)
            checked = _ungated(pods, before) if _is_pod(request) else _changed(pods, before)
        case "UPDATE", "ephemeralcontainers" if _is_pod(request):
            checked = pods = _pods(request, "object", evaluator)
            # Existing ephemeral containers can never change.
            added = _ephemeral_containers(pods) - _ephemeral_containers(_pods(request, "oldObject", evaluator))
        case _:
            return outcome
    outcome.verdict = evaluator.verdict(checked, _origin(request, Hook.VALIDATE, added))
    outcome.allowed = outcome.verdict.decision is not Decision.DENIED
    return outcome


_CONFIG_MAP = ("", "ConfigMap")


def _of_config_map(request: Request, evaluator: Evaluator) -> Verdict:
    """The verdict for the configurations of the device plugin that a request adds or changes."""
    if request.subResource or request.operation not in ("CREATE", "UPDATE"):
        return UNTOUCHED
    before = _object(request, "oldObject") if request.operation == "UPDATE" else None
    return by_key(evaluator.configurations(configurations(_object(request, "object"), before)))


def _is_pod(request: Request) -> bool:
    return is_pod(request.kind.group, request.kind.kind)


def _pods(request: Request, field: Literal["object", "oldObject"], evaluator: Evaluator) -> list[ExtractedPod]:
    return evaluator.pods(_object(request, field), request.kind.group, request.kind.kind)


def _object(request: Request, field: Literal["object", "oldObject"]) -> Members:
    manifest = request.object if field == "object" else request.oldObject
    if manifest is None:
        raise BadReviewError(f"the request to {request.operation} has no {field}")
    return manifest  # type: ignore[return-value]  # a dict at run time


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


def _ephemeral_containers(pods: list[ExtractedPod]) -> frozenset[str]:
    return frozenset(container.name for extracted in pods for container in extracted.pod.ephemeral_containers())


def _origin(request: Request, hook: Hook, added_containers: frozenset[str] | None = None) -> Origin:
    return Origin(
        request.namespace,
        not hook.mutates,
        request.operation == "UPDATE",
        added_containers,
        hook.hostpath,
        tuple(request.userInfo.groups or ()),
    )


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
