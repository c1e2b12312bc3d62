"""The decision of a running webhook about an object, with the positions of the local run.

Only `check --server` imports this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from webhook.admission import Hook
from webhook.cli.evaluation import Evaluated
from webhook.cli.server_options import Server
from webhook.diagnostics import Diagnostic
from webhook.policy.evaluate import Evaluator
from webhook.policy.verdict import Decision
from webhook.policy.workloads.kinds import group_of
from webhook.remote import Answer, NewObject, ServerError, Trust, UnansweredError, Webhook, address, compare
from webhook.report import Result


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

    @property
    def server(self) -> str:
        """The address of the webhook."""
        return str(self._webhook)

    def result(self, evaluated: Evaluated) -> Result | Diagnostic:
        """Return the result for an object, or an error if it got no answer.

        An object of a kind without pods is not sent: in a cluster, the webhook does not receive it.
        """
        local = evaluated.result()
        subject, manifest = evaluated.subject, evaluated.manifest
        kind = self._evaluator.kinds.get((group_of(subject.api_version), subject.kind))
        if kind is None or evaluated.verdict.is_skipped:
            return local
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
            return manifest.diagnostic((), f"{subject} got no answer: {error}")
        return self._compared(evaluated, local, answers)

    def _mutating(self, evaluated: Evaluated) -> Hook | None:
        """The mutating hook of an object. The chart selects it by the Pod Security level of the namespace."""
        if not evaluated.is_pod:
            return None
        rules = self._evaluator.ruleset.of(evaluated.namespace)
        return Hook.MUTATE if rules.allows_hostpath else Hook.MUTATE_WITHOUT_HOSTPATH

    def _compared(self, evaluated: Evaluated, local: Result, answers: list[Answer]) -> Result:
        compared = compare(answers, evaluated.verdict.findings, evaluated.manifest.value)
        is_denied = compared.decision is Decision.DENIED
        patch = () if is_denied or not evaluated.is_pod else answers[0].operations
        return replace(
            local,
            decision=compared.decision.label,
            findings=tuple(evaluated.located(*marked) for marked in compared.findings),
            patch=patch,
            omitted=compared.omitted,
            reason=local.reason if compared.decision.label == local.decision else "",
            server=self.server,
            patch_differs=patch != local.patch,
        )


def _name(value: object) -> str:
    """The name of an object; empty if the API server generates it."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
