"""The verdict for a manifest, as `check` reports it and `mutate` applies it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.diagnostics import Diagnostic, dotted
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest
from webhook.patch import Operation, build, verify
from webhook.policy.context import RequestContext
from webhook.policy.messages import printable
from webhook.policy.pods.reading import MalformedError, Members, mapping, members, text
from webhook.policy.verdict import Decision, Edit, Finding, Severity, Verdict
from webhook.policy.workloads.kinds import Kinds, group_of, is_pod
from webhook.report.fingerprint import value_of
from webhook.report.model import SKIPPED, LocatedFinding, Result, Subject

USERS = "GPS008"
"""The check that compares users, also across the objects of a run."""

DEFAULT_NAMESPACE = "default"
"""The namespace of objects that name none and live in one."""


class Evaluated(NamedTuple):
    """A manifest with its verdict.

    `namespace` is the one whose rules apply to the object; empty for a cluster-scoped object. `users` says how
    severe it is that the object uses MPS as another user than other objects do.
    """

    manifest: Manifest
    subject: Subject
    namespace: str
    verdict: Verdict
    users: Severity = Severity.OFF

    @property
    def is_pod(self) -> bool:
        """Whether the object is a Pod, the only kind that the mutating hook receives."""
        return is_pod(group_of(self.subject.api_version), self.subject.kind)

    @property
    def is_denied(self) -> bool:
        return self.verdict.decision is Decision.DENIED

    def operations(self) -> list[Operation]:
        """The operations that `mutate` applies: without the annotation that names the edits of the webhook."""
        return self._built(self.verdict.edits)

    def _built(self, edits: Sequence[Edit]) -> list[Operation]:
        if not edits:
            return []
        operations = build(self.manifest.value, edits)
        failure = verify(self.manifest.value, operations)
        if failure is not None:
            raise AssertionError(f"an edit does not apply: {failure}")
        return operations

    def result(self) -> Result:
        """The result for a report. Raises AssertionError if an edit does not apply."""
        manifest, verdict = self.manifest, self.verdict
        patch = self._built(verdict.sent) if self.is_pod and not self.is_denied else []
        return Result(
            manifest.file,
            manifest.document,
            manifest.line,
            self.subject,
            SKIPPED if verdict.is_skipped else verdict.decision.label,
            tuple([self.located(finding) for finding in verdict.findings]),
            tuple(patch),
            verdict.omitted(),
            verdict.reason,
            source=manifest.source,
            users=tuple(
                [
                    replace(self.located(Finding(USERS, self.users, path, "", "")), value=str(user))
                    for user, path in (verdict.users if self.users is not Severity.OFF else ())
                ]
            ),
            comments=manifest.comments,
            left_out=verdict.left_out(),
        )

    def located(self, finding: Finding) -> LocatedFinding:
        """A finding with its place in the text of the manifest."""
        manifest = self.manifest
        (line, column), excerpt, length = manifest.in_text(finding.path)
        file = manifest.origin(finding.path).file
        return LocatedFinding(
            finding.code,
            finding.severity,
            finding.path,
            finding.message,
            finding.remedy,
            line=line,
            column=column,
            excerpt=excerpt,
            length=length,
            value=value_of(manifest.at(finding.path)),
            key=manifest.key_above(finding.path),
            file="" if file == manifest.file else file,
        )


def evaluate(
    manifest: Manifest,
    evaluator: OfflineEvaluator,
    namespace: str,
    origin: Callable[[str], RequestContext] = RequestContext,
) -> Evaluated | Diagnostic:
    """Evaluate one manifest; an object whose structure is not that of its kind is an error.

    `origin` returns the origin of an object in a namespace; by default the object comes from the command line.
    """
    try:
        value = mapping(manifest.value, ())
        subject, within = _placed(_subject(value, manifest.namespace or namespace), evaluator.kinds)
        verdict = evaluator.evaluate(value, group_of(subject.api_version), subject.kind, origin(within))
        return Evaluated(manifest, subject, within, verdict, _severity_of_users(evaluator, within, verdict))
    except MalformedError as error:
        field = printable(dotted(error.path))
        return manifest.diagnostic(error.path, f"{field}: {error}" if field else str(error))


def _severity_of_users(evaluator: OfflineEvaluator, namespace: str, verdict: Verdict) -> Severity:
    """How severe it is that an object uses MPS as another user; OFF if each is checked against a configured user."""
    if not verdict.users or evaluator.snapshot.settings.users.run_as_user is not None:
        return Severity.OFF
    return evaluator.snapshot.of(namespace).severities[USERS]


def _subject(value: Members, namespace: str) -> Subject:
    metadata = members(value, "metadata", ())
    own, name, stem = [text(metadata, key, ("metadata",)) for key in ("namespace", "name", "generateName")]
    return Subject(_required(value, "apiVersion"), _required(value, "kind"), own or namespace, name or stem)


def _placed(subject: Subject, kinds: Kinds) -> tuple[Subject, str]:
    """The subject, and the namespace whose rules apply: none for a cluster-scoped object, even if it names one."""
    kind = kinds.get((group_of(subject.api_version), subject.kind))
    if kind is not None and not kind.namespaced:
        return subject._replace(namespace=""), ""
    return subject, subject.namespace or DEFAULT_NAMESPACE


def _required(value: Members, field: str) -> str:
    """A text of the object. Raises MalformedError if it is absent or empty."""
    found = text(value, field, ())
    if not found:
        raise MalformedError((field,), "text", value.get(field))
    return found
