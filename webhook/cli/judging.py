"""A manifest and the engine make a judgement: what `check` reports and `mutate` applies."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.cli.inputs import Engine
from webhook.diagnostics import Diagnostic, dotted
from webhook.manifests import Manifest
from webhook.patch import Operation, build, flaw, pointer
from webhook.policy.context import Origin
from webhook.policy.evaluate import judge
from webhook.policy.pods.reading import MalformedError, Members, mapping, members, text
from webhook.policy.printable import printable
from webhook.policy.verdict import Decision, Verdict
from webhook.policy.workloads.kinds import ExtractedPod, group_of, is_suspended, pods
from webhook.report import Located, Result, Subject


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict for a manifest. `verdict` is None when no pod is inside."""

    manifest: Manifest
    subject: Subject
    verdict: Verdict | None

    @property
    def is_pod(self) -> bool:
        """Whether the object is a Pod itself, which alone the mutating hook sees."""
        return self.subject.kind == "Pod" and group_of(self.subject.api_version) == ""

    @property
    def is_denied(self) -> bool:
        """Whether the object is refused."""
        return self.verdict is not None and self.verdict.decision is Decision.DENIED

    @property
    def has_too_many_edits(self) -> bool:
        """Whether the object needs more edits than the webhook makes, so that it makes none."""
        return self.verdict is not None and self.verdict.too_many_edits

    def operations(self) -> list[Operation]:
        """The proven operations of the edits."""
        if self.verdict is None or not self.verdict.edits:
            return []
        operations = build(self.manifest.value, self.verdict.edits)
        wrong = flaw(self.manifest.value, operations)
        if wrong is not None:
            raise AssertionError(f"an edit does not apply: {wrong}")
        return operations

    def result(self) -> Result:
        """The report's line for it."""
        patch = self.operations() if self.is_pod and not self.is_denied else []
        return Result(
            self.manifest.file,
            self.manifest.document,
            self.manifest.line,
            self.subject,
            "skipped" if self.verdict is None else self.verdict.decision.label,
            tuple(self._located()),
            tuple(patch),
            {} if self.verdict is None else self.verdict.omitted(),
        )

    def _located(self) -> list[Located]:
        located = []
        for finding in self.verdict.findings if self.verdict is not None else ():
            position = self.manifest.locate(finding.path)
            located.append(Located(finding, pointer(finding.path), position.line, position.column))
        return located


def judgement(manifest: Manifest, engine: Engine, namespace: str) -> Judgement | Diagnostic:
    """Judge one manifest; an object whose structure is not that of its kind is an error."""
    try:
        value = mapping(manifest.value, ())
        subject = _subject(value, namespace)
        held = pods(engine.kinds, group_of(subject.api_version), subject.kind, value)
        return Judgement(manifest, subject, _verdict(value, subject, held, engine))
    except MalformedError as error:
        field = printable(dotted(error.path))
        return manifest.diagnostic(error.path, f"{field}: {error}" if field else str(error))


def _verdict(value: Members, subject: Subject, held: list[ExtractedPod], engine: Engine) -> Verdict | None:
    if not held:
        return None
    itself = subject.kind == "Pod"
    origin = Origin(
        subject.namespace or "default", itself=itself, open=not itself and is_suspended(subject.kind, value)
    )
    return judge(held, origin, engine.ruleset)


def _subject(value: Members, namespace: str) -> Subject:
    metadata = members(value, "metadata", ())
    named = {field: text(metadata, field, ("metadata",)) for field in ("namespace", "name", "generateName")}
    return Subject(
        _required(value, "apiVersion"),
        _required(value, "kind"),
        named["namespace"] or namespace,
        named["name"] or named["generateName"],
    )


def _required(value: Members, field: str) -> str:
    """A text of the object that must be there and say something."""
    said = text(value, field, ())
    if not said:
        raise MalformedError((field,), "text", value.get(field))
    return said
