"""The decision of a running webhook about an object, with the positions of the local run.

Only `check --server` imports this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from webhook.admission import Hook
from webhook.cli.evaluation import Evaluated
from webhook.cli.server_options import Server
from webhook.diagnostics import Diagnostic, Unread
from webhook.policy.evaluate import Evaluator
from webhook.policy.verdict import Decision
from webhook.policy.workloads.kinds import Kind, group_of
from webhook.remote import Answer, NewObject, ServerError, Trust, UnansweredError, Webhook, address, compare
from webhook.remote.comparison import Marked
from webhook.report.model import Difference, Entry, Result, Suppression


@contextmanager
def connected(server: Server, evaluator: Evaluator) -> Iterator[Reviewer]:
    """Give a reviewer for the time of the context. Raises InputError for files, and UsageError for a URL."""
    try:
        place = address(server.url, server.name)
    except ValueError as error:
        raise click.UsageError(f"--server {server.url}: {error}") from None
    webhook = Webhook(place, Trust(server.ca, server.client_cert, server.client_key).context())
    try:
        yield Reviewer(webhook, evaluator)
    finally:
        webhook.close()


class Reviewer:
    """Sends objects to a running webhook, and compares its answers with a local run. `evaluator` is that of the run."""

    def __init__(self, webhook: Webhook, evaluator: Evaluator) -> None:
        self._webhook = webhook
        self._evaluator = evaluator
        self._is_lost = False

    @property
    def server(self) -> str:
        """The address of the webhook."""
        return str(self._webhook)

    def results(self, entries: Iterable[Evaluated | Diagnostic | Unread]) -> Iterator[Entry]:
        """Yield the result for each object, or an error if it got no answer.

        An object of a kind without pods is not sent: in a cluster, the webhook does not receive it. After the server
        has failed as a whole, the objects that would be sent are counted in one error at the end.
        """
        unsent = 0
        for entry in entries:
            if not isinstance(entry, Evaluated):
                yield entry
            elif (kind := self._kind(entry)) is None:
                yield entry.result()
            elif self._is_lost:
                unsent += 1
            else:
                yield self._result(entry, kind)
        if unsent:
            objects = "1 other object is" if unsent == 1 else f"{unsent} other objects are"
            yield Diagnostic(self.server, 0, 0, f"the webhook failed, so {objects} not checked")

    def _kind(self, evaluated: Evaluated) -> Kind | None:
        """The kind of an object that is sent; None for one that is not."""
        subject = evaluated.subject
        kind = self._evaluator.kinds.get((group_of(subject.api_version), subject.kind))
        return None if evaluated.verdict.is_skipped else kind

    def _result(self, evaluated: Evaluated, kind: Kind) -> Result | Diagnostic:
        subject, manifest = evaluated.subject, evaluated.manifest
        created = NewObject(
            kind.group,
            subject.api_version.rpartition("/")[2],
            kind.kind,
            kind.resource or f"{kind.kind.lower()}s",
            evaluated.namespace,
            _name(manifest.value),
            manifest.value,
        )
        try:
            answers = self._webhook.create(created, self._mutating(evaluated))
        except (UnansweredError, ServerError) as error:
            self._is_lost = isinstance(error, ServerError)
            return manifest.diagnostic((), f"{subject} got no answer: {error}")
        return self._compared(evaluated, answers)

    def _mutating(self, evaluated: Evaluated) -> Hook | None:
        """The mutating hook of an object. The chart selects it by the Pod Security level of the namespace."""
        if not evaluated.is_pod:
            return None
        rules = self._evaluator.ruleset.of(evaluated.namespace)
        return Hook.MUTATE if rules.allows_hostpath else Hook.MUTATE_WITHOUT_HOSTPATH

    def _compared(self, evaluated: Evaluated, answers: list[Answer]) -> Result:
        local = evaluated.result()
        compared = compare(answers, evaluated.verdict.findings, evaluated.manifest.value)
        is_denied = compared.decision is Decision.DENIED
        patch = () if is_denied or not evaluated.is_pod else answers[0].operations
        return local._replace(
            decision=compared.decision.label,
            findings=tuple(evaluated.located(*marked) for marked in compared.findings),
            patch=patch,
            omitted=compared.omitted,
            reason=local.reason if compared.decision.label == local.decision else "",
            suppressed=tuple(_also_suppressed(local.suppressed, compared.findings)),
            server=self.server,
            patch_differs=patch != local.patch,
        )


def _also_suppressed(local: Iterable[Suppression], found: Iterable[Marked]) -> Iterator[Suppression]:
    """What annotations suppress in the local run, except codes of which only the server reports findings."""
    reported = {finding.code for finding, difference in found if difference is Difference.ONLY_SERVER}
    return (one for one in local if one.code not in reported)


def _name(value: object) -> str:
    """The name of an object; empty if the API server generates it."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
