"""What policies in the API server decide, so that the hooks leave it to them."""

from __future__ import annotations

from typing import NamedTuple

from webhook.policy.context import PodContext
from webhook.policy.verdict import Severity, Violation


class Decided(NamedTuple):
    """The codes that policies decide, about the pods of these kinds, each with its API group."""

    codes: frozenset[str]
    kinds: frozenset[tuple[str, str]]

    def has(self, context: PodContext, code: str, violation: Violation) -> bool:
        """Whether a policy decides about a violation that a hook has found.

        Policies leave alone what a check only warns of, pods whose nodes are chosen later, and ephemeral containers.
        The final hook decides about each denial: the API server calls it after the policies, so that it finds only
        what they have not denied (k8s.io/apiserver pkg/admission/chain.go).
        """
        origin, severity = context.origin, context.rules.severities[code]
        if code not in self.codes or violation.cap < severity:
            return False
        if origin.is_final_hook and severity is Severity.DENY:
            return False
        is_left_alone = origin.is_offline or origin.added_containers is not None or context.deferral is not None
        return not is_left_alone and _kind(context) in self.kinds


def _kind(context: PodContext) -> tuple[str, str]:
    """The group and the kind of the object. The API server sends both."""
    if context.is_pod:
        return "", "Pod"
    manifest = context.extracted.manifest
    return str(manifest.get("apiVersion", "")).rpartition("/")[0], str(manifest.get("kind", ""))
