"""A pod reached the validating hook without the edits of the mutating one."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.verdict import MOST_EDITS, Violation, Violations


def run(context: PodContext) -> Violations:
    """One violation if edits are missing."""
    if not context.edits:
        return ()
    missing = str(len(context.edits)) if len(context.edits) <= MOST_EDITS else f"more than {MOST_EDITS}"
    problem = f"the mutating webhook was not called or did not answer; missing edits: {missing}"
    return (Violation(context.pod.spec_path, problem, "recreate the pod once the webhook is healthy"),)
